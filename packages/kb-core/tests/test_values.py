"""Values: what the standard library makes of the same declaration, made quickly."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from kb_core import values
from kb_core.search import Scored


def declared(decorator: Callable[..., Any]) -> tuple[type[Any], ...]:
    """Return three classes, as *decorator* makes them."""

    @decorator(frozen=True, slots=True)
    class Place:
        path: str
        line: int = 1

        def __post_init__(self) -> None:
            if self.line < 1:
                raise ValueError(self.line)

    @decorator(frozen=True, slots=True, kw_only=True)
    class Found:
        score: float = 0.5
        place: object
        words: list[str] = field(default_factory=list)

        def __repr__(self) -> str:
            return "found"

    @decorator(frozen=True, slots=True)
    class Nothing:
        pass

    return Place, Found, Nothing


class Pickled:
    """Names that pickle finds."""


OURS, THEIRS = declared(values.dataclass), declared(dataclasses.dataclass)
WORN = declared(values.dataclass)
"""Classes with so many values that their constructors are compiled."""
for made in OURS:
    setattr(Pickled, made.__name__, made)
    made.__qualname__ = f"Pickled.{made.__name__}"


def examples(classes: tuple[type[Any], ...]) -> list[Any]:
    place, found, nothing = classes
    return [
        *(place("a.md"), place("a.md", 2), place(line=2, path="a.md"), nothing()),
        *(found(place=1), found(place=place("b"), words=["w"], score=1)),
    ]


for _ in range(40):
    examples(WORN)


def told(value: object) -> tuple[object, ...]:
    return (
        repr(value).rpartition(".")[2],
        dataclasses.asdict(value),  # type: ignore[call-overload]
        type(value).__match_args__,  # type: ignore[attr-defined]
        [f.name for f in dataclasses.fields(value)],  # type: ignore[arg-type]
    )


def test_values_are_told_as_by_the_standard_library() -> None:
    theirs = [told(value) for value in examples(THEIRS)]

    assert [told(value) for value in examples(OURS)] == theirs
    assert [told(value) for value in examples(WORN)] == theirs
    assert {one.__init__.__name__ for one in WORN} == {"__init__"}


def test_values_are_equal_and_hashed_as_by_the_standard_library() -> None:
    ours, theirs = examples(OURS), examples(THEIRS)

    assert [[a == b for a in ours] for b in ours] == [[a == b for a in theirs] for b in theirs]
    assert len(set(ours[:4])) == len(set(theirs[:4])) == 3
    assert ours[0] != ("a.md", 1)
    with pytest.raises(TypeError):
        hash(ours[4])  # its list has no hash, and so it has none


@pytest.mark.parametrize("value", examples(OURS), ids=repr)
def test_a_value_survives_copy_pickle_and_replace(value: Any) -> None:  # noqa: ANN401
    there = pickle.loads(pickle.dumps(value))

    assert there == value == copy.copy(value) == copy.deepcopy(value)
    assert dataclasses.replace(value) == value
    assert not hasattr(value, "__dict__")


def test_a_value_is_checked_when_it_is_made_and_when_it_is_replaced() -> None:
    place = OURS[0]

    with pytest.raises(ValueError, match="0"):
        place("a.md", 0)
    with pytest.raises(ValueError, match="0"):
        dataclasses.replace(place("a.md"), line=0)


def test_a_value_cannot_be_changed() -> None:
    place = OURS[0]("a.md")

    with pytest.raises(FrozenInstanceError):
        place.line = 2
    with pytest.raises(FrozenInstanceError):
        del place.line
    assert place.line == 1


WRONG: tuple[tuple[int, tuple[object, ...], dict[str, object]], ...] = (
    (0, (), {}),
    (0, ("a", 1, 2), {}),
    (0, ("a",), {"path": "b"}),
    (0, ("a",), {"lines": 1}),
    (1, (1, 2), {}),
    (1, (), {"place": 1, "more": 2}),
    (2, (1,), {}),
)


@pytest.mark.parametrize(("which", "given", "named"), WRONG)
def test_wrong_arguments_are_refused_in_the_same_words(
    which: int, given: tuple[object, ...], named: dict[str, object]
) -> None:
    refused = []
    for made in (declared(values.dataclass)[which], WORN[which]):
        with pytest.raises(TypeError) as error:
            made(*given, **named)
        refused.append(str(error.value))

    assert refused[0] == refused[1]


def test_defaults_are_of_each_value_alone() -> None:
    first, second = OURS[1](place=1), OURS[1](place=1)

    first.words.append("w")

    assert second.words == []


def test_a_value_may_be_declared_to_change() -> None:
    @values.dataclass(slots=True)
    class Count:
        n: int = 0

    count = Count()
    count.n += 1

    assert count == Count(1)
    with pytest.raises(TypeError):
        hash(count)
    with pytest.raises(AttributeError):
        count.m = 1  # type: ignore[attr-defined]


def test_what_has_no_slots_is_left_to_the_standard_library() -> None:
    @values.dataclass(frozen=True)
    class Count:
        n: int = 0

    assert "n" in vars(Count(1))
    assert Count() == Count(0)


def test_a_class_that_nobody_asks_of_has_only_been_made() -> None:
    place, found, _ = declared(values.dataclass)
    untouched = {name: vars(place)[name] for name in ("__dataclass_fields__", "__init__")}

    found(place=place)

    assert {name: vars(place)[name] for name in untouched} == untouched
    place("a.md")
    assert vars(place)["__init__"] is untouched["__init__"]
    many = [place(f"{n}.md") for n in range(40)]
    assert many == [place(path=f"{n}.md") for n in range(40)]
    assert dataclasses.is_dataclass(place)
    assert vars(place)["__init__"] is not untouched["__init__"]
    assert isinstance(vars(place)["__dataclass_fields__"], dict)


def test_fields_are_not_inherited() -> None:
    with pytest.raises(TypeError, match="not inherited"):
        values.dataclass(frozen=True, slots=True)(type("Longer", (OURS[0],), {}))


def test_a_lazy_pattern_is_compiled_when_it_is_used_and_is_a_pattern_then() -> None:
    word = values.lazy_pattern(r"b(\w)", re.IGNORECASE)
    wrong = values.lazy_pattern("(")

    assert vars(word).keys() == {"_given"}
    assert word.sub(r"<\1>", "abc BD") == "a<c> <D>"
    assert (word.pattern, word.groups) == (r"b(\w)", 1)
    assert [match[0] for match in word.finditer("abc BD")] == ["bc", "BD"]
    assert not hasattr(word, "__len__")
    with pytest.raises(re.error):
        wrong.search("")


def test_named_tuples_of_many_rows_are_those_that_the_class_makes() -> None:
    rows = [(1, 0.5), (2, 0.25)]

    made = values.tuples(Scored, iter(rows))

    assert made == [Scored(key, score) for key, score in rows]
    assert {type(each) for each in made} == {Scored}
    assert made[0].score == 0.5
    assert values.tuples(Scored, []) == []
    with pytest.raises(TypeError, match=r"Scored is \(chunk_key, score\)"):
        values.tuples(Scored, [(1,)])
