"""What every language model keeps, whatever is behind it: a server, a file, a script."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing

from kb_core.errors import KbError, ModelNotPulled, ModelUnreachable, Timeout
from kb_core.language import Delta, Message
from kb_core.ports import LanguageModel
from kb_core.testing.fakes import Script

__all__ = ["LanguageModelContract"]

_TOLD = (
    Message("system", 'Say "yes" or\tno.\n'),
    Message("user", "Ça va? 한국어 🥙"),
    Message("assistant", "oui"),
    Message("user", "again"),
)
_SAID = ("Yes", ", it", " is ", "한국", "어 🥙\n", "[1]", ".")


class LanguageModelContract(ABC):
    """``LanguageModel``."""

    @abstractmethod
    def make_model(self, script: Script) -> LanguageModel:
        """Return a model that says and does what *script* has, each time it is asked."""

    def test_what_is_said_comes_in_order_and_ends_once(self) -> None:
        deltas = _all(self.make_model(Script(_SAID)))

        assert _text(deltas) == "".join(_SAID)
        assert all(delta.text and delta.end is None for delta in deltas[:-1])
        assert deltas[-1].end is not None
        assert deltas[-1].end.reason == "stop"
        usage = deltas[-1].end.usage
        assert all(n is None or n >= 0 for n in (usage.prompt_tokens, usage.completion_tokens))

    def test_nothing_to_say_is_an_end_and_no_error(self) -> None:
        (only,) = _all(self.make_model(Script()))

        assert only.text == ""
        assert only.end is not None

    def test_it_can_be_asked_again(self) -> None:
        model = self.make_model(Script(_SAID))

        assert _all(model) == _all(model)
        assert model.name == model.name

    def test_a_check_of_what_is_well_says_nothing(self) -> None:
        self.make_model(Script()).check()

    def test_tokens_are_counted_the_same_or_not_at_all(self) -> None:
        model = self.make_model(Script())
        counts = [model.count(text) for text in ("", "one", "one two three", "one")]

        assert counts[1] == counts[3]
        assert all(count is None or count >= 0 for count in counts)
        assert len({count is None for count in counts}) == 1

    def test_who_is_stopped_before_it_begins_says_nothing(self) -> None:
        model = self.make_model(Script(_SAID))

        assert list(model.generate(_TOLD, max_tokens=50, stop=lambda: True)) == []
        assert _text(_all(model)) == "".join(_SAID)

    def test_who_is_stopped_in_the_middle_has_no_end(self) -> None:
        model = self.make_model(Script(_SAID))
        said: list[Delta] = []

        for delta in model.generate(_TOLD, max_tokens=50, stop=lambda: len(said) == 2):
            said.append(delta)  # noqa: PERF402 - *stop* looks at what came so far

        assert len(said) == 2
        assert "".join(_SAID).startswith(_text(said))
        assert all(delta.end is None for delta in said)

    def test_who_is_closed_early_can_be_asked_again(self) -> None:
        model = self.make_model(Script(_SAID))

        with closing(_generate(model)) as deltas:
            next(deltas)

        assert _text(_all(model)) == "".join(_SAID)

    def test_what_came_before_a_break_is_given_and_the_break_is_told(self) -> None:
        said, error = _until_error(self.make_model(Script(_SAID, "cut_off")))

        assert "".join(_SAID).startswith(_text(said))
        assert all(delta.end is None for delta in said)
        assert isinstance(error, ModelUnreachable)
        assert error.hint

    def test_silence_is_a_timeout(self) -> None:
        said, error = _until_error(self.make_model(Script((), "silent")))

        assert said == []
        assert isinstance(error, Timeout)
        assert error.hint

    def test_where_nobody_is_there_both_methods_say_so(self) -> None:
        for error in _errors(self.make_model(Script(_SAID, "unreachable"))):
            assert isinstance(error, ModelUnreachable)
            assert error.hint

    def test_where_the_model_is_missing_both_methods_say_how_to_get_it(self) -> None:
        model = self.make_model(Script(_SAID, "missing"))

        for error in _errors(model):
            assert isinstance(error, ModelNotPulled)
            assert model.name.id in str(error)
            assert error.hint


def _generate(model: LanguageModel) -> Generator[Delta]:
    return model.generate(_TOLD, max_tokens=50)


def _all(model: LanguageModel) -> list[Delta]:
    return list(_generate(model))


def _text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def _until_error(model: LanguageModel) -> tuple[list[Delta], KbError | None]:
    said = []
    try:
        for delta in _generate(model):
            said.append(delta)  # noqa: PERF402 - an error may come after it
    except KbError as error:
        return said, error
    return said, None


def _errors(model: LanguageModel) -> list[KbError | None]:
    """Return what ``generate`` and what ``check`` complain of."""
    try:
        model.check()
    except KbError as error:
        return [_until_error(model)[1], error]
    return [None]
