"""What a file is to somebody who looks for code: code, its tests, its settings, its pages.

A repository says the same thing several times: where it is done, where it is tried, where it
is imitated for a test, where it is configured and where it is explained. All of that is
found; what is done comes first, unless the question asks for one of the others.

Three things are known of a passage without reading it for meaning. Its role, by its path.
Whether it only names what a file imports, or its licence. And what of the question stands in
the names that it defines, its docstrings, comments and messages, where somebody says what the
code is for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from kb_app._media import MEDIA
from kb_app._search.defining import values_given
from kb_app._search.ranking import in_order
from kb_core.filters import And, Filter, Glob, Not, OneOf, Or
from kb_core.media import Media
from kb_core.search import FileRole
from kb_core.values import lazy_pattern
from kb_search.analysis import analyze, query_terms
from kb_search.signposts import is_signpost

if TYPE_CHECKING:
    from kb_app._search.ranking import Row
    from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc

__all__ = [
    "DEPTH",
    "STEP",
    "Home",
    "declares",
    "in_their_places",
    "is_enough",
    "is_late",
    "mostly_code",
    "role_filter",
    "role_of",
    "specifies",
    "weight_of",
    "wish_of",
]


_FOLDERS = (
    "test", "tests", "tests-*", "*-tests", "testing", "testdata", "__tests__", "spec", "specs",
    "fixtures", "fake", "fakes", "mock", "mocks", "bench", "benches", "benchmark", "benchmarks",
    "t", "Test", "Tests", "*Tests", "*Test", "testData", "Fixtures", "__mocks__", "e2e",
)  # fmt: skip
_FILES = (
    "test_*", "*_test.*", "*.test.*", "*-test.*", "*Test.*", "*Tests.*", "*_spec.*", "*.spec.*",
    "conftest.*", "*.t",
)  # fmt: skip
_CONFIG = (
    "json", "yaml", "toml", "ini", "xml", "css", "dockerfile", "makefile", "properties", "gettext",
    "cmake", "gomod", "gosum", "gradle", "ignore", "ninja", "starlark",
)  # fmt: skip
"""Languages that say how things are to be or built, not what is done; and translations, which say
again in each language what the code says once."""

_REMEMBERED = 10_000
"""Paths of which it is known whether they are of tests: a list is asked several times."""
_OF_TESTS = ("test", "spec", "fixture", "fake", "mock", "bench", "/t/", ".t", "e2e")
"""What paths of them have in them, of which few others have any."""
_IS_FOLDER = lazy_pattern("|".join(map(translate, _FOLDERS)))
_IS_FILE = lazy_pattern("|".join(map(translate, _FILES)))
_RECORDS = lazy_pattern(
    r"(?i)(?:change(?:s|log)|(?:version[-_ ]?)?history|news|what'?s[-_ ]?new|release[-_ ]?notes?)"
    r"(?:\.\w+)?"
)
_OF_RIGHTS = lazy_pattern(
    r"(?i)(?:un)?(?:licen[cs]es?|copying|copyrights?|notices?|patents?|third[-_]?party[-_]?\w+"
    r"|code[-_]?of[-_]?conduct)(?:[-_.][\w.+-]*)?"
)
"""Files that say what may be done with a work, whose it is, and how those who make it behave:
``LICENSE``, ``NOTICES.md``, ``CODE_OF_CONDUCT.md``."""

_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts", ".pyi")
"""What names of files end with that only declare what others define."""
_SPECIFICATIONS = (".mli", ".fsi", ".ads")
"""What names of files end with that tell the types of what others define, and explain it."""
_OF_OTHERS = lazy_pattern(
    r"(?i)(?:^|/)(?:_?vendor(?:ed)?|third[-_]?party|3rd[-_]?party|node_modules|bower_components)/"
)
_OF_EXAMPLES = lazy_pattern(r"(?i)(?:^|/)(?:examples?|samples?|demos?)/")
"""Code that shows how what the repository does is used."""

_IS_TEST = Or((*(Glob(f"**/{name}/**") for name in _FOLDERS), *(Glob(name) for name in _FILES)))
_IS_CODE = OneOf("media", (Media.CODE.value,))
_IS_CONFIG = OneOf("code_lang", _CONFIG)
_WITH_LINES = OneOf(
    "media",
    tuple(str(name) for name, row in MEDIA.items() if row.has_lines or row.cites_file_lines),
)
_IS: Mapping[FileRole, Filter] = {
    FileRole.CODE: And((Not(_IS_TEST), _IS_CODE, Not(_IS_CONFIG))),
    FileRole.DOCS: And((Not(_IS_TEST), Not(_IS_CODE))),
    FileRole.TESTS: _IS_TEST,
    FileRole.CONFIG: And((Not(_IS_TEST), _IS_CODE, _IS_CONFIG)),
}


def role_of(found: StoredChunk | StoredDoc) -> FileRole:
    """Return what the file of *found* is, by its path, medium and language."""
    if _is_of_tests(found["path"]):
        return FileRole.TESTS
    if found["media"] != Media.CODE.value:
        return FileRole.DOCS
    return FileRole.CONFIG if found["code_lang"] in _CONFIG else FileRole.CODE


@lru_cache(maxsize=_REMEMBERED)
def _is_of_tests(path: str) -> bool:
    lowered = f"/{path.lower()}"
    if not any(word in lowered for word in _OF_TESTS):
        return False
    *folders, name = path.split("/")
    return bool(_IS_FILE.match(name) or any(map(_IS_FOLDER.match, folders)))


def declares(found: StoredChunk | StoredDoc) -> bool:
    """Say whether a file only says what another one defines, as ``*.d.ts`` does."""
    return found["path"].endswith(_DECLARATIONS)


def specifies(found: StoredDoc) -> bool:
    """Say whether another file defines what this one tells the types of, be it all there is."""
    return declares(found) or found["path"].endswith(_SPECIFICATIONS)


def is_late(doc: StoredDoc) -> bool:
    """Say whether a file comes after all that does something, where names are looked for.

    What was changed once is of the past: a changelog holds every name. Declarations say again
    what is called how. Builds of CMake do something, and define what code asks for.
    """
    role = role_of(doc)
    is_settings = role is FileRole.CONFIG and doc["code_lang"] != "cmake"
    is_aside = is_settings or role is FileRole.TESTS or _is_example(doc)
    return is_aside or _is_record(doc) or declares(doc)


def _is_example(found: StoredChunk | StoredDoc) -> bool:
    """Say whether code only shows how other code is used."""
    return role_of(found) is FileRole.CODE and _OF_EXAMPLES.search(found["path"]) is not None


def role_filter(roles: Collection[FileRole]) -> Filter:
    """Return what passes of files that have lines and one of these *roles*; none is any."""
    if not roles or len(set(roles)) == len(FileRole):
        return _WITH_LINES
    return And((_WITH_LINES, Or(tuple(_IS[role] for role in FileRole if role in roles))))


# -------------------------------------------------------------------- weights

_WEIGHTS = {FileRole.CODE: 1.0, FileRole.DOCS: 0.9, FileRole.CONFIG: 0.7, FileRole.TESTS: 0.7}
_WHERE = {FileRole.DOCS: 0.5, FileRole.TESTS: 0.5}
"""Of what tells about code, and of what tries it, where a question asks what that does, or where:
among files of code alone. Of pages, .4 takes the first place from those that answer."""
_FOREIGN = 0.7
"""Of code of others that a repository carries along, and of examples that nobody asked for: it is
asked of what is its own."""
_DECLARED = 0.7
"""Of types of what another file does: who reads them has not seen it."""
_RECORD, _LEGAL, _HEAD, _DEFINITION, _VALUE = 0.6, 0.4, 0.5, 1.2, 1.5
"""Of a page that tells what changed; of one that tells whose work it is, and what others may do
with it; of a head of a file; of what is defined under a name that the question has, and of what
gives a constant its value, which uses of it say as often in fewer words."""

_SAID, _SAID_WHERE = 0.25, 0.4
"""What code gains that says all words of a question, in its names and in prose, and where a place
is asked for. On 91 questions about seven repositories anything from .2 to .3 finds more than .15
did, and for a place from .3 to .6 is the same; much more puts code before pages that answer."""


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What a test claims is what somebody looks for who states that it is never otherwise.
_ASKED = {
    FileRole.TESTS: _words(
        "test tests tested testing fixture fixtures fake fakes mock mocks cover covers"
        " never always cannot must"
    ),
    FileRole.CONFIG: _words("setting settings json yaml yml toml schema schemas css"),
    FileRole.DOCS: _words("doc docs documentation documented guide readme decision decisions why"),
}
_OF_SETTINGS = "config"
"""What words of settings begin with."""
_ASKED_RECORD = _words(
    "change changes changed changelog history release releases released since new"
)
_ASKED_RIGHTS = _words(
    "conduct copying copyright copyrighted copyrights copyleft legal licence licences licenced"
    " license licensed licenses licensing notice notices owner owners patent patents permission"
    " permitted redistribute redistribution third warranty"
)
_ASKED_EXAMPLES = _words("example examples sample samples demo demos usage")
_ASKED_WHERE = (
    *("where", "definition", "wo", "où", "donde", "dónde", "onde", "dove", "waar", "где"),
    *("which function", "which class", "which method", "which module", "which file"),
)
"""What a question begins with that asks for a place in code."""
_ANYWHERE = ("어디", "どこ", "哪里", "哪裡", "在哪")
"""In languages that do not ask it first."""
_ASKED_OF_CODE = lazy_pattern(
    r"(?i)\W*(?:how(?! to\b)|what|which|who|in (?:which|what)"
    r"|wie|welche\w*|was|wann|wer|comment|quel\w*|qué|cómo|cuál\w*|como|quale|hoe|welke|wat|как|что"
    r"|(?:when\s+)?(?:is|are|was|were|does|do|did|can|may|will|would|should|must|has|have))\b"
)
"""What a question begins with that asks what is done, and how."""
_ASKED_TOLD = lazy_pattern(
    r"(?i)\b(?:i|we|you|my|our|your|ich|wir|je|nous|describ\w+|explain\w*|mention\w*)\b"
    r"|^\W*how to\b"
)
"""Who asks where something is told, or where to find it or how to do it, is after a page."""

_ASKED_TESTS = lazy_pattern(
    r"(?i)\b(?:which|what|any)\s+(?:unit\s+)?(?:tests?|specs?)\b"
    r"|\btests?\s+(?:for|of|that|which|covers?|covering)\b|\b(?:is|are)\s+(?:\S+\s+){1,5}tested\b"
    r"|^\W*(?:unit|integration|regression)?\s*tests?\s+\w|\btest_\w+|\w_(?:test|spec)s?\b"
)
"""Who says so, or names a test or its file, is after the test itself."""
_BESIDE_TESTS = {FileRole.CODE: 0.75, FileRole.DOCS: 0.6, FileRole.CONFIG: 0.5}
"""Of what a test is of, where one is asked for: it says the same words and defines the names."""

_NAME = lazy_pattern(r"\w+")
_SPELLED = lazy_pattern(r"\w*(?:[^\W_]_[^\W_]|[a-z][A-Z])\w*")
"""A name that only code spells so: ``take_lease``, ``takeLease``."""
_FILE = lazy_pattern(r"(?<![\w-])(?<![\w-]\.)[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w*")
_OF_FILE = 1.5
"""Of what stands in a file that the question names."""
_HELD = 0.3
"""What code gains that has all such names of a question, wherever it does."""
_SAYING = lazy_pattern(
    r"""(?mx) ^[ \t]* (?: (?:async[ ]+)?(?:def|class)\b [^\n]*: [ \t]*\n [ \t]* )?
        [rRuU]? (\"{3}|'{3}) (?P<docstring> [\s\S]*? ) \1
    | ^[ \t]* (?: \#(?!!) | //[/!]? | /?\*+/? | --+ | ;+ ) [ \t]? (?P<comment> .* ) $"""
)
"""Docstrings, and lines that are comments, in the ways of most languages."""
_QUOTED = lazy_pattern(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_MESSAGE = lazy_pattern(r"[^\W\d_]{2} [^\W\d_]{2}")
"""What stands in quotation marks and is words: what is said when something goes wrong."""
_GIVEN = lazy_pattern(r"(?m)^[ \t]*([^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)")
"""A name that is given a value."""


DEPTH, STEP = 100, 20
"""So many rows of a list are looked at, so many at a time, until they are enough: where pages and
tests say the words of a question, the code that decides it often comes after fifty of them."""
_WEIGHED = 10
"""Passages of code that are put in order; a hundred do no better."""
_BESIDE_PROSE = 0.5
"""Of tests and settings that nobody asked for, in a list that has prose as well."""
_SHARES_LITTLE = 0.3
"""What code that passes a page has of its score at least."""

Home = tuple[str, str | None]
"""The source of a passage, and the repository in it."""


_KNOWN: WeakKeyDictionary[IndexSnapshot, dict[Home, bool]] = WeakKeyDictionary()
"""What was counted, for as long as somebody holds the state that it was counted in."""


def mostly_code(snapshot: IndexSnapshot) -> Callable[[Home], bool]:
    """Return what says of a source, or a repository in it, whether most passages are code.

    It is counted once a state: among a million passages that takes as long as a search.
    """
    known = _KNOWN.setdefault(snapshot, {})

    def is_mostly_code(home: Home) -> bool:
        if home not in known:
            source, repo = OneOf("source_id", (home[0],)), home[1]
            inside = source if repo is None else And((source, OneOf("repo", (repo,))))
            code = snapshot.count(And((inside, OneOf("media", (Media.CODE.value,)))))
            known[home] = 2 * code > snapshot.count(inside)
        return known[home]

    return is_mostly_code


def is_enough(chunks: Collection[StoredChunk], is_mostly_code: Callable[[Home], bool]) -> bool:
    """Say whether it is known what comes first: where code does, there is as much as is weighed."""
    if not any(map(is_mostly_code, set(map(_home, chunks)))):
        return True
    return sum(role_of(chunk) is FileRole.CODE for chunk in chunks) >= _WEIGHED


def in_their_places(
    head: Sequence[Row],
    chunks: Mapping[int, StoredChunk],
    query: str,
    is_mostly_code: Callable[[Home], bool],
) -> list[Row]:
    """Return the first rows of a list in the order of what they are, too.

    The places that code has are shared by it, in the order of its weights, and nothing is known
    of code beside prose but that tests, settings and lists of changes which the question does
    not ask for come later. Only where most of a home is code, two of each three of its passages
    are: the first one, too, where the question asks what is done, and none more than there are
    where it asks what a page tells. A row has the score of its place.
    """
    known = {at: chunks[row.chunk_key] for at, row in enumerate(head) if row.chunk_key in chunks}
    if all(one["media"] != Media.CODE.value for one in known.values()):
        return list(head)
    wish = wish_of(query)
    sought = {FileRole.CODE, *wish.roles} - {FileRole.DOCS}
    code = [
        at
        for at, one in known.items()
        if (role_of(one) in sought or _is_code_of(one, wish)) and not _is_head(one)
    ]
    mostly = {home for home in set(map(_home, known.values())) if is_mostly_code(home)}
    own = {at for at, one in known.items() if _home(one) in mostly}
    weighed = {at: head[at].score * weight_of(known[at], wish) for at in code[:_WEIGHED]}
    best = sorted(weighed, key=lambda at: -round(weighed[at], 6))
    places = [(at, head[of].score) for at, of in zip([*best, *code[_WEIGHED:]], code, strict=True)]
    taken = set(code)
    scores = {at: row.score for at, row in enumerate(head) if at not in taken}
    for at in scores.keys() & known.keys():
        scores[at] *= _beside_code(known[at], wish, is_own=at in own)
        scores[at] *= _OF_FILE if _is_named(known[at], wish) else 1.0
    others = sorted(scores.items(), key=lambda row: -round(row[1], 6))
    return in_order(head, _mixed(places, others, own, wish))


def _mixed(
    code: Sequence[tuple[int, float]],
    others: Sequence[tuple[int, float]],
    own: Collection[int],
    wish: Wish,
) -> Iterator[int]:
    """Yield the rows of two lists with scores as one; *own* are of a home that is mostly code."""
    left, right = deque(code), deque(others)
    shown = of_code = 0
    while left and right:
        (it, place), (page, score) = left[0], right[0]
        lags = of_code < wish.least_of_code(shown) and it in own and page in own
        is_code = place >= score * (_SHARES_LITTLE if lags else 1)
        at, _ = (left if is_code else right).popleft()
        shown += at in own
        of_code += is_code and at in own
        yield at
    yield from (at for at, _ in (*left, *right))


def _beside_code(chunk: StoredChunk, wish: Wish, *, is_own: bool) -> float:
    """Return what the score of a passage counts that is not what is looked for."""
    is_aside = role_of(chunk) in {FileRole.TESTS, FileRole.CONFIG}
    if is_aside and (is_own or chunk["media"] == Media.CODE.value):
        return _BESIDE_PROSE
    if chunk["media"] == Media.CODE.value:
        return _HEAD
    told = _of_page(chunk, wish) if is_own else None
    return 1.0 if told is None else told


def _is_named(chunk: StoredChunk, wish: Wish) -> bool:
    """Say whether the question names the file of a passage; tests are often called as it, too."""
    if not wish.files or _name(chunk).lower() not in wish.files:
        return False
    return FileRole.TESTS in wish.roles or role_of(chunk) is not FileRole.TESTS


def _is_code_of(chunk: StoredChunk, wish: Wish) -> bool:
    """Say whether a passage is of settings that the question names by their file."""
    return role_of(chunk) is FileRole.CONFIG and _is_named(chunk, wish)


def _home(chunk: StoredChunk) -> Home:
    return chunk["source_id"], chunk["repo"]


class Wish(NamedTuple):
    """What a question says of the file that it is after; read once, however many it finds."""

    roles: frozenset[FileRole]
    is_where: bool
    is_of_code: bool
    """Whether it asks what is done, or where: code comes first."""
    is_told: bool
    """Whether it asks what a page tells: code does not come before it for being code."""
    is_of_record: bool
    is_of_rights: bool
    is_for_examples: bool
    is_for_tests: bool
    """Whether it asks which test does something, and not only what tests say, too."""
    names: frozenset[str]
    spelled: tuple[str, ...]
    """Those of them that only code spells so."""
    files: frozenset[str]
    """What it has that may be names of files, in small letters."""
    words: tuple[frozenset[str], ...]
    """Its words, each as what a text has that holds it."""

    def least_of_code(self, shown: int) -> int:
        """Return of how many passages code is at least, the one after *shown* others included."""
        if self.is_told:
            return 0
        return -(-2 * (shown + 1) // 3) if self.is_of_code else 2 * shown // 3


def wish_of(query: str) -> Wish:
    names = _NAME.findall(query)
    asked = frozenset(map(str.lower, names))
    roles = {role for role, words in _ASKED.items() if not asked.isdisjoint(words)}
    if any(word.startswith(_OF_SETTINGS) for word in asked):
        roles.add(FileRole.CONFIG)
    begins = query.lstrip().lower()
    is_where = any(
        begins.startswith(words) and not _NAME.match(begins, len(words)) for words in _ASKED_WHERE
    )
    is_where = is_where or any(word in query for word in _ANYWHERE)
    terms = (term for term in query_terms(query, ("en",)) if not term.only_asks)
    words = tuple(frozenset(term.forms or term.stems) for term in terms)
    is_of_record = not asked.isdisjoint(_ASKED_RECORD)
    if is_for_tests := _ASKED_TESTS.search(query) is not None:
        roles.add(FileRole.TESTS)
    is_told = _ASKED_TOLD.search(query) is not None or is_of_record or FileRole.DOCS in roles
    asks = not roles and _ASKED_OF_CODE.match(query) is not None
    return Wish(
        frozenset(roles),
        is_where,
        not is_told and (is_where or asks or is_for_tests),
        is_told,
        is_of_record,
        not asked.isdisjoint(_ASKED_RIGHTS),
        is_told or not asked.isdisjoint(_ASKED_EXAMPLES),
        is_for_tests,
        frozenset(names),
        tuple(name for name in set(names) if _SPELLED.fullmatch(name)),
        frozenset(name.lower() for name in _FILE.findall(query)),
        tuple(filter(None, words)),
    )


def weight_of(chunk: StoredChunk, wish: Wish) -> float:
    """Return what a score counts by what its passage is."""
    role = role_of(chunk)
    weights = {**_WEIGHTS, **_WHERE} if wish.is_where or wish.is_of_code else _WEIGHTS
    weights = {**weights, **_BESIDE_TESTS} if wish.is_for_tests else weights
    is_named = _is_named(chunk, wish)
    is_wanted = role in wish.roles or (is_named and role is FileRole.CONFIG)
    weight = 1.0 if is_wanted else weights[role]
    if role is FileRole.DOCS:
        told = _of_page(chunk, wish)
        weight = weight if told is None else told
    if role is FileRole.CODE and declares(chunk):
        weight *= _DECLARED
    is_of_others = role is FileRole.CODE and _OF_OTHERS.search(chunk["path"]) is not None
    if role is FileRole.CODE and _is_head(chunk):
        weight *= _HEAD
    elif is_of_others or (_is_example(chunk) and not wish.is_for_examples):
        weight *= _FOREIGN
    elif role in {FileRole.CODE, FileRole.CONFIG}:
        weight *= 1 + (_SAID_WHERE if wish.is_where else _SAID) * _said(chunk, wish.words)
    if role is FileRole.CODE and wish.spelled:
        held = sum(name in chunk["text"] for name in wish.spelled)
        weight *= 1 + _HELD * held / len(wish.spelled)
    return weight * _of_names(chunk, role, wish) * (_OF_FILE if is_named else 1.0)


def _of_names(chunk: StoredChunk, role: FileRole, wish: Wish) -> float:
    """Return what a passage counts for giving a name of the question its meaning."""
    # A place is where a function begins; and what a test is of is no test.
    is_beside = role is FileRole.CODE and wish.is_for_tests
    if is_beside or (wish.is_where and (chunk["part"] or 1) > 1):
        return 1.0
    given = values_given(chunk["text"], wish.spelled, chunk["code_lang"])
    if next(given, None) is not None:
        return _VALUE
    symbols = (chunk["symbol"] or "").split(", ")
    names = {symbol.rpartition(".")[2] for symbol in symbols if symbol}
    return _DEFINITION if names & wish.names else 1.0


def _said(chunk: StoredChunk, words: Sequence[frozenset[str]]) -> float:
    """Return the share of *words* that a passage says of itself.

    That is in names, docstrings, comments and messages; of constants, which have no unit around
    them, the names are those that are given values.
    """
    text = chunk["text"]
    told = [one["docstring"] or one["comment"] or "" for one in _SAYING.finditer(text)]
    quoted = (one[1] or one[2] or "" for one in _QUOTED.finditer(text))
    told += [said for said in quoted if _MESSAGE.search(said)]
    names = chunk["symbol"] or " ".join(_GIVEN.findall(text))
    streams = analyze("\n".join((names, analyze(names).ident, *told)))
    held = {*streams.stem.split(), *streams.cjk.split()}
    return sum(not held.isdisjoint(forms) for forms in words) / max(1, len(words))


def _of_page(chunk: StoredChunk, wish: Wish) -> float | None:
    """Return what a page counts that tells what changed, or whose work it is; of others none."""
    if _is_record(chunk):
        return 1.0 if wish.is_of_record else _RECORD
    if _OF_RIGHTS.fullmatch(_name(chunk)):
        return 1.0 if wish.is_of_rights else _LEGAL
    return None


def _is_record(found: StoredChunk | StoredDoc) -> bool:
    return _RECORDS.fullmatch(_name(found)) is not None


def _name(found: StoredChunk | StoredDoc) -> str:
    return found["path"].rpartition("/")[2]


def _is_head(chunk: StoredChunk) -> bool:
    """Say whether a passage only has imports or a licence: no docstring, no constant, no code."""
    return not chunk["symbol"] and is_signpost(chunk["text"], Media.CODE.value)
