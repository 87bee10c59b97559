"""Completion: what a shell is told when a person presses Tab, and its scripts.

The shell asks ``kebab`` itself, through click. What a word may be is known here: files and
folders are left to the shell, sources come from the configuration, and what documents are
like (languages, tags, paths) from the index. A completion that cannot be made is none: it
never prints an error into somebody's command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem

from kb_cli._context import CliContext
from kb_core.errors import KbError

if TYPE_CHECKING:
    import click

    from kb_app.knowledge_base import KnowledgeBase
    from kb_core.wire import types

__all__ = ["KINDS", "SCRIPTS", "complete"]

_MOST_DOCS = 2000
"""So many documents are looked at for their tags and paths."""


def complete(what: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return how *incomplete* may go on: a name of ``KINDS``; several stand with commas between."""
    if what in {"file", "dir"}:
        return [CompletionItem(incomplete, type=what)]
    before, comma, begun = (
        incomplete.rpartition(",") if what != "document" else ("", "", incomplete)
    )
    # One with a comma in it would need a backslash that a shell keeps.
    known = (word for word in KINDS[what](ctx) if what == "document" or "," not in word)
    words = [word for word in known if word.lower().startswith(begun.lower())]
    return [CompletionItem(f"{before}{comma}{word}") for word in words]


def _sources(ctx: click.Context) -> Sequence[str]:
    with suppress(KbError, OSError, ValueError):
        return [source.id for source in _quiet(ctx).config.sources]
    return ()


def _media(_ctx: click.Context) -> Sequence[str]:
    from kb_core.media import Media

    return [medium.value for medium in Media]


def _counted(key: str) -> Callable[[click.Context], Sequence[str]]:
    """Return what reads the names of a breakdown of stats.v1, the most frequent first."""

    def names(kb: KnowledgeBase) -> Iterator[str]:
        stats: Mapping[str, Any] = kb.stats()
        counts = stats[key]
        yield from sorted((name for name in counts if counts[name]), key=lambda n: -counts[n])

    return lambda ctx: _of_index(ctx, names)


def _tags(kb: KnowledgeBase) -> Iterable[str]:
    return sorted({tag for doc in _docs(kb) for tag in doc["tags"]})


def _paths(kb: KnowledgeBase) -> Iterable[str]:
    return (doc["doc_path"] for doc in _docs(kb))


def _docs(kb: KnowledgeBase) -> list[types.DocSummary]:
    from kb_core.search import SearchFilters

    return kb.list_docs(SearchFilters(), limit=_MOST_DOCS)["items"]


def _of_index(ctx: click.Context, names: Callable[[KnowledgeBase], Iterable[str]]) -> Sequence[str]:
    with suppress(KbError, OSError, ValueError), _quiet(ctx).open(readonly=True) as kb:
        return list(names(kb))
    return ()


def _quiet(ctx: click.Context) -> CliContext:
    cli = ctx.find_root().ensure_object(CliContext)
    cli.quiet = cli.readonly = True  # neither a warning nor a log in somebody's command line
    return cli


KINDS: dict[str, Callable[[click.Context], Sequence[str]]] = {
    "document": lambda ctx: _of_index(ctx, _paths),
    "source": _sources,
    "media": _media,
    "lang": _counted("lang_breakdown"),
    "code_lang": _counted("code_lang_breakdown"),
    "repo": _counted("repo_breakdown"),
    "tag": lambda ctx: _of_index(ctx, _tags),
}
"""What there is of documents, and of a filter by its name."""

# What a shell would take for several words, or for its own signs, is written as one word: within
# the quotes that the person has opened, if any.
_BASH = """\
_kebab_word() {
    case ${COMP_WORDS[COMP_CWORD]} in
        \\'*) value=${value//\\'/\\'\\\\\\'\\'} ;;
        '"'*)
            value=${value//\\\\/\\\\\\\\}; value=${value//\\"/\\\\\\"}
            value=${value//\\$/\\\\\\$}; value=${value//\\`/\\\\\\`} ;;
        *) [[ $value != *[![:alnum:]_./,:=@%+-]* ]] || printf -v value %q "$value" ;;
    esac
}
_kebab_completion() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            file) compopt -o filenames -o default 2>/dev/null ;;
            dir) compopt -o filenames -o dirnames 2>/dev/null ;;
            plain) _kebab_word && COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        _KEBAB_COMPLETE=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F _kebab_completion kebab kb 2>/dev/null ||
    complete -F _kebab_completion kebab kb
"""

_ZSH = """\
#compdef kebab kb
_kebab_completion() {
    local -a answers plain told
    local kind value help
    answers=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \\
        _KEBAB_COMPLETE=zsh_complete ${words[1]} 2>/dev/null)}")
    for kind value help in "${answers[@]}"; do
        case $kind in
            file) _files ;;
            dir) _files -/ ;;
            plain) if [[ $help == _ ]]; then plain+=("$value"); else told+=("$value:$help"); fi ;;
        esac
    done
    (( $#told )) && _describe -V 'kebab' told
    (( $#plain )) && compadd -V kebab -a plain
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _kebab_completion "$@"
else
    compdef _kebab_completion kebab kb
fi
"""

_FISH = """\
function _kebab_completion
    set -l words (commandline -cp)
    set -l asked (env COMP_WORDS="$words" COMP_CWORD=(commandline -t) \\
        _KEBAB_COMPLETE=fish_complete kebab 2>/dev/null)
    for answer in $asked
        set -l parts (string split -m 1 , -- $answer)
        switch $parts[1]
            case file
                __fish_complete_path $parts[2]
            case dir
                __fish_complete_directories $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --no-files --command kebab --arguments '(_kebab_completion)'
complete --no-files --command kb --arguments '(_kebab_completion)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""What makes a shell ask, for both names of the program."""
