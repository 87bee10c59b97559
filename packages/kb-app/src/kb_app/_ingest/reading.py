"""Reading: wanted files on their way through workers, which begin at once.

What a file becomes is a matter of its task, and hardly any asks the store for anything. So a
run that knows what it wants begins before it has become the one writer: a worker starts, loads
and parses while the store and the index are opened.

**Invariant:** what is read early is what would be read later: a reading is thrown away where
somebody has written since its files were planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kb_app._ingest.added.assets import given_trust
from kb_app._ingest.making.record import Made, Task, make
from kb_app._ingest.plan import Plan, Wanted, has_these_settings
from kb_app._ingest.seeing.files import location
from kb_app._ingest.seeing.repository import RepositoryFinder
from kb_app._ingest.settings import Settings, unjudging
from kb_app._media import medium_of
from kb_core.execution import Notice, Outcome
from kb_core.ids import enclosed_path
from kb_core.ingest import IngestOptions
from kb_core.records import FileState
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._parts import Parts

__all__ = ["Reader", "Reading", "settings_for"]

_USABLE = {FileState.INDEXED, FileState.PENDING, FileState.SKIPPED}
_Enclosed: TypeAlias = Callable[[str, str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Reader:
    """What a run reads with: its settings and options, and where costly results are kept."""

    parts: Parts
    settings: Settings
    options: IngestOptions
    costly: Path

    def begin(self, plans: Sequence[Plan]) -> Reading:
        """Begin with what *plans* want: with nothing, where that is a matter of what is stored."""
        wanted = [(plan, want) for plan in plans for want in plan.wanted]
        is_apart = self.options.sought is None and not any(self._may_keep(w) for _, w in wanted)
        return self.read(wanted if is_apart else (), _nothing_within)

    def read(
        self,
        wanted: Sequence[tuple[Plan, Wanted]],
        enclosed: _Enclosed,
        phases: tuple[str, ...] = (),
    ) -> Reading:
        """Begin with *wanted*; *enclosed* tells the hashes of what is stored of a file's files."""
        repositories = RepositoryFinder()
        tasks = (self._task(plan, want, repositories, enclosed, phases) for plan, want in wanted)
        return Reading(self.parts, wanted, tasks)

    def _task(
        self,
        plan: Plan,
        want: Wanted,
        repositories: RepositoryFinder,
        enclosed: _Enclosed,
        phases: tuple[str, ...],
    ) -> Task:
        # What is kept as an asset has left the repository that it may come from.
        repository = None
        if want.asset is None:
            file = location(plan.source.root, want.file.path, want.raw_path)
            repository = repositories.of_folder(Path(file).parent)
        known = want.known
        # What it was made with before is no reason not to go through a later phase.
        usable = known is not None and known.state in _USABLE and not phases
        is_known = known is not None and usable and not self.options.force
        return Task(
            root=plan.source.root,
            file=want.file,
            raw_path=want.raw_path,
            settings=settings_for(want, self.settings),
            known_fingerprint=known.fingerprint if known and is_known else None,
            indexed_at=self.parts.clock(),
            repo=repository.name if repository else None,
            repo_branch=repository.branch if repository else None,
            repo_commit=repository.commit if repository else None,
            asset=want.asset,
            trust=given_trust(want.asset),
            title=want.title,
            follow_links=plan.source.follow_links,
            phases=phases,
            known_enclosed={} if phases else self._known_within(want, enclosed),
            costly=str(self.costly) if phases else None,
        )

    def _may_keep(self, want: Wanted) -> bool:
        """Say whether what is stored of the files in a file would be parsed the same."""
        known, file = want.known, want.file
        return (
            known is not None
            and known.state is FileState.INDEXED
            and medium_of(known.media or file.media).holds_files  # a name need not tell
            and not self.options.force
            and has_these_settings(file, known, settings_for(want, self.settings))
        )

    def _known_within(self, want: Wanted, enclosed: _Enclosed) -> Mapping[str, str]:
        if not self._may_keep(want):
            return {}
        file = want.file
        into = enclosed_path(file.path, "")
        stored = enclosed(file.source_id, file.path)
        return {path.removeprefix(into): digest for path, digest in stored.items()}


class Reading:
    """What is being read of *wanted*: iterate it once, for what the executor tells; close it."""

    def __init__(
        self, parts: Parts, wanted: Sequence[tuple[Plan, Wanted]], tasks: Iterator[Task]
    ) -> None:
        self.wanted = wanted
        self._executor = parts.executor(make, len(wanted)) if wanted else None
        try:
            self._told = self._executor.follow(tasks) if self._executor else iter(())
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Outcome[Task, Made] | Notice[Task]]:
        return self._told

    def close(self) -> None:
        """End what is under way; closing twice is harmless."""
        if self._executor is not None:
            self._executor.close()


def settings_for(want: Wanted, settings: Settings) -> Settings:
    """Return what a file is read by: one that was added is not judged again."""
    return settings if want.asset is None else unjudging(settings)


def _nothing_within(source_id: str, path: str) -> Mapping[str, str]:
    raise RuntimeError(f"{path} of {source_id} holds files, and the store is not open")
