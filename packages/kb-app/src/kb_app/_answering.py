"""The part of the facade that answers questions, and keeps conversations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb_app._pinned import refuse_pinned

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

    from kb_app._ask.asking import Asking
    from kb_app._ask.conversing import Conversing
    from kb_app._ask.journals import Journal, Journals
    from kb_app.config import Config
    from kb_core.answers import Answer, AskQuery
    from kb_core.search import SearchQuery
    from kb_core.wire import types

__all__ = ["Answering"]


class Answering:
    """Operations of ``KnowledgeBase`` that answer; the rest of it has the engine."""

    _config: Config

    @abstractmethod
    def _asking(self, stop: Event | None) -> Asking: ...

    @abstractmethod
    def expect(self, query: SearchQuery) -> None:
        """Let the model open and read *query* beside what is done before it is searched for."""

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @property
    @abstractmethod
    def _data_dir(self) -> Path:
        """Where what a person says is kept."""

    @property
    @abstractmethod
    def _keeps(self) -> bool:
        """Whether what a person says may be written."""

    @property
    def keeps(self) -> bool:
        """Whether conversations are kept: a workspace, which is read-only, has a place for them."""
        return self._keeps

    def ask(self, question: AskQuery, *, stop: Event | None = None) -> Iterator[types.AnswerEvent]:
        """Answer *question*; yield answer_event.v1, of which the last is the one ``final``.

        A refusal is an answer, and setting *stop* ends in one; closing the iterator ends in
        nothing. Errors of a search are raised before the first event, and those of a language
        model that said nothing, such as ``ModelUnreachable``, in place of the last. With a
        ``conversation``, the question is asked as what it means there, and what came of it is
        kept; read-only, nothing is, and the answer says so.
        """
        self._refuse_conversation(question)
        self.expect(question.search())
        from kb_app._ask.telling import told  # while the model opens

        return told(self._conversing(stop).steps(question))

    def answer(
        self,
        question: AskQuery,
        *,
        stop: Event | None = None,
        told: Callable[[str], object] | None = None,
    ) -> Answer:
        """Return the answer to *question*, or the refusal: what ``ask`` ends in.

        *told* is called with each piece of it as it comes, on the caller's thread.
        """
        self._refuse_conversation(question)
        self.expect(question.search())
        from kb_app._ask.telling import last  # as above

        return last(self._conversing(stop).steps(question), told)

    def conversations(self) -> types.SessionList:
        """Return session_list.v1, the conversation that was used last first."""
        from kb_core import wire

        refuse_pinned(self._config, "session list")
        journals = self._journals()
        return wire.session_list([_with_size(journals.read(name)) for name in journals.names()])

    def conversation(self, name: str) -> types.Session:
        """Return session.v1 of a conversation: every question with what came of it.

        ``last`` is the one that was used last; ``InvalidInput`` for one that is not there.
        """
        from kb_app._ask.journals import LAST

        refuse_pinned(self._config, "session show")
        journals = self._journals()
        return _with_size(journals.kept(journals.last() if name == LAST else name))[0]

    def delete_conversations(self, names: Sequence[str]) -> types.SessionList:
        """Delete conversations, all of which have to be there; return what they were.

        In the safety copies, too, where one may be that is lost.
        """
        self._refuse_readonly("session delete")
        from kb_app._data_dir import DataDir
        from kb_app._safety import SafetyCopies
        from kb_core import wire
        from kb_core.disk import disk_errors

        journals, copies = self._journals(), SafetyCopies(DataDir(self._data_dir).safety)
        files = {name: journals.file_name(name) for name in dict.fromkeys(names)}
        in_copies = {name for name, file in files.items() if copies.has(file)}
        gone = [
            _with_size(journals.read(name) if name in in_copies else journals.kept(name))
            for name in files
        ]
        with disk_errors("delete conversations"):
            for name, file in files.items():
                copies.drop(file)
                journals.delete(name)
                copies.drop(file)  # of one that was made just now
        return wire.session_list(gone)

    def _refuse_conversation(self, question: AskQuery) -> None:
        """Conversations quote what was found, whatever source it was of."""
        if question.conversation is not None:
            refuse_pinned(self._config, "a conversation")

    def _conversing(self, stop: Event | None) -> Conversing:
        from kb_app._ask.conversing import Conversing

        return Conversing(self._asking(stop), self._journals(), keeps=self._keeps)

    def _journals(self) -> Journals:
        from kb_app._ask.journals import Journals
        from kb_app._data_dir import DataDir

        return Journals(DataDir(self._data_dir).journal)


def _with_size(kept: Journal) -> tuple[types.Session, int]:
    from kb_core import wire

    return wire.session(kept.name, kept.turns, kept.remarks), kept.size
