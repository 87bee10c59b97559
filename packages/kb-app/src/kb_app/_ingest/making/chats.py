"""Conversations, as assistants and programs for messages export them: JSON, and texts of WhatsApp.

Those of ChatGPT and Claude (``conversations.json``), Telegram (``result.json``), Slack (a file a
day), Facebook or Instagram (``message_1.json``), Google Chat (``messages.json``), Discord, WhatsApp
and the messages of telephones. Each conversation is read as
Markdown with its title and dates in front: what an assistant and a person said to each other as
paragraphs of each, messages of people as a line each, under their days. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import CHATS
from kb_app._ingest.making.counting import json_objects, objects_in, text_of
from kb_app._ingest.making.noted import NoExportError, moment_of_json, noted
from kb_app._ingest.making.telephone import TextMessage, is_texts, texts_of
from kb_app._ingest.making.whatsapp import is_whatsapp, messages_of
from kb_core.documents import Enclosure
from kb_core.values import lazy_pattern

__all__ = ["chats_of", "is_chat", "may_be_chat"]

_LOOKED_AT = 65_536
_MARKS = (
    (b'"mapping"', b'"create_time"'),
    (b'"chat_messages"', b'"created_at"'),
    (b'"messages"', b'"from_id"'),
    (b'"messages"', b'"sender_name"'),
    (b'"ts"', b'"type"', b'"text"'),
    (b'"chats"', b'"list"', b'"messages"'),
    (b'"messages"', b'"creator"', b'"created_date"'),
)
"""What stands in the beginning of an export, all of one line."""
_DISCORD = (b'"guild"', b'"channel"', b'"messages"')
"""The same, of one that may have any name."""
_HEADING = lazy_pattern(r"#{1,6}[ \t]+(\S.*)")
_SLACK = lazy_pattern(r"<([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_MOST_TURNS = 100_000
_NAMED = 4
"""Of so many people a conversation has the names, where it has no other."""
_YOU = {"user": "You", "human": "You", "assistant": "Assistant", "tool": "", "system": ""}

_Json: TypeAlias = "Mapping[str, object]"


class _Turn(NamedTuple):
    """What somebody said, and when."""

    who: str
    text: str
    when: datetime | None


def may_be_chat(path: str) -> bool:
    """Say whether a file of this name may hold conversations."""
    return CHATS.search(path) is not None


def is_chat(path: str, data: bytes) -> bool:
    """Say whether a file holds conversations, by its name and by how it begins."""
    head, extension = data[:_LOOKED_AT], path.lower().rpartition(".")[2]
    if extension == "xml":
        return is_texts(head)
    told = _MARKS if may_be_chat(path) else ()
    return extension == "json" and any(
        all(mark in head for mark in marks) for marks in (*told, _DISCORD)
    )


def chats_of(data: bytes, path: str) -> Iterator[Enclosure]:
    """Yield each conversation.

    Raise ``NoExportError`` where the file is no export, or is damaged from there on.
    """
    if is_whatsapp(path, data):
        yield _of_whatsapp(FileContent(data).text, path)
        return
    if is_texts(data):
        yield from _of_telephone(data)
        return
    text = data.decode("utf-8-sig", "replace")
    turns: list[_Turn] = []
    try:
        for each in json_objects(text):
            if each.get("type") == "message" and isinstance(each.get("ts"), str):
                turns += _of_slack(each)
            else:
                yield from _conversations(each)
    except (ValueError, RecursionError) as error:
        raise NoExportError(str(error)) from error
    if turns:
        yield _by_days(_name_of(path), turns)


def _name_of(path: str) -> str:
    """Return what a file is called with its folder, which is a channel."""
    return " ".join(path.rpartition("!/")[2].removesuffix(".json").split("/")[-2:])


def _conversations(found: _Json) -> Iterator[Enclosure]:
    """Yield the conversations of an object: one, or all that somebody had."""
    if isinstance(found.get("mapping"), dict):
        yield _with_assistant(found, _of_chatgpt(found))
    elif isinstance(found.get("chat_messages"), list):
        yield _with_assistant(found, _of_claude(found))
    elif isinstance(found.get("messages"), list):
        turns = [turn for each in objects_in(found["messages"]) for turn in _of_people(each)]
        turns.sort(key=_when)
        title = text_of(found.get("name")) or _untangled(text_of(found.get("title")))
        title = title or _channel(found)
        if turns:
            yield _by_days(title, turns)
    else:
        for key in ("chats", "left_chats"):
            held = found.get(key)
            for each in objects_in(held.get("list") if isinstance(held, dict) else None):
                if isinstance(each.get("messages"), list):
                    yield from _conversations(each)


def _of_chatgpt(found: _Json) -> list[_Turn]:
    """Return the turns of a conversation: of its branches the one that was looked at last."""
    nodes = found["mapping"]
    at, seen, turns = found.get("current_node"), set[object](), list[_Turn]()
    assert isinstance(nodes, dict)  # noqa: S101 - as was asked
    if not isinstance(at, str) or at not in nodes:
        at = next(reversed(nodes), None)
    while isinstance(at, str) and at not in seen and len(turns) < _MOST_TURNS:
        seen.add(at)
        node = nodes.get(at)
        if not isinstance(node, dict):
            break
        if isinstance(message := node.get("message"), dict):
            turns += _of_node(message)
        at = node.get("parent")
    return turns[::-1]


def _of_node(message: _Json) -> Iterator[_Turn]:
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, dict) or not isinstance(content, dict):
        return
    parts = content.get("parts")
    said = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    text = "\n\n".join(said) or text_of(content.get("text"))
    who = _YOU.get(text_of(author.get("role")), "")
    if who and text.strip() and content.get("content_type") != "thoughts":
        yield _Turn(who, text.strip(), moment_of_json(message.get("create_time")))


def _of_claude(found: _Json) -> list[_Turn]:
    turns = []
    for each in objects_in(found["chat_messages"]):
        parts = [text_of(part.get("text")) for part in objects_in(each.get("content"))
                 if part.get("type") == "text"]  # fmt: skip
        said = ["\n\n".join(filter(None, parts)) or text_of(each.get("text"))]
        for held in objects_in(each.get("attachments")):
            content = text_of(held.get("extracted_content"))
            said += [f"{text_of(held.get('file_name'))}:\n\n{content}"] if content else []
        text = "\n\n".join(part.strip() for part in said if part.strip())
        who = _YOU.get(text_of(each.get("sender")), "")
        if who and text:
            turns.append(_Turn(who, text, moment_of_json(each.get("created_at"))))
    return turns


def _of_people(each: _Json) -> Iterator[_Turn]:
    """Yield a message of Telegram, Facebook, Instagram, Discord or Google Chat."""
    author, creator = each.get("author"), each.get("creator")
    if isinstance(each.get("sender_name"), str):
        when = each.get("timestamp_ms")
        moment = moment_of_json(when / 1000) if isinstance(when, int | float) else None
        who, text = (
            _untangled(text_of(each["sender_name"])),
            _untangled(text_of(each.get("content"))),
        )
    elif isinstance(author, dict):
        who = text_of(author.get("nickname")) or text_of(author.get("name"))
        sent = (text_of(part.get("fileName")) for part in objects_in(each.get("attachments")))
        moment = moment_of_json(each.get("timestamp"))
        text = " ".join(filter(None, (text_of(each.get("content")), *sent)))
    elif isinstance(creator, dict):
        who, text = text_of(creator.get("name")), text_of(each.get("text"))
        moment = _long_date(text_of(each.get("created_date")))
    else:
        who = text_of(each.get("from")) or text_of(each.get("actor"))
        moment, text = moment_of_json(each.get("date")), _of_parts(each.get("text"))
        text = text or text_of(each.get("file_name"))
    if text.strip():
        yield _Turn(who, text.strip(), moment)


def _channel(found: _Json) -> str:
    """Return what a channel of Discord is called, with the name of its server."""
    named = (each.get("name") for each in (found.get("guild"), found.get("channel"))
             if isinstance(each, dict))  # fmt: skip
    return ": ".join(filter(None, map(text_of, named)))


def _long_date(said: str) -> datetime | None:
    """Return a date such as ``Tuesday, March 12, 2024 at 6:05:11 PM UTC``."""
    try:
        plain = " ".join(said.split()).partition(", ")[2]
        return datetime.strptime(plain, "%B %d, %Y at %I:%M:%S %p UTC").replace(tzinfo=UTC)
    except ValueError:
        return None


def _of_telephone(data: bytes) -> Iterator[Enclosure]:
    """Yield the conversations of a telephone, as SMS Backup & Restore keeps its messages.

    Those of one number are one conversation, called by who has it.
    """
    read: dict[str, list[TextMessage]] = {}
    damage: NoExportError | None = None
    try:
        for each in texts_of(data):
            read.setdefault(each.number, []).append(each)
    except NoExportError as error:
        damage = error
    for said in read.values():
        turns = [_Turn(each.who, each.text, each.when) for each in said]
        yield _by_days(said[-1].name, sorted(turns, key=_when))
    if damage:
        raise damage


def _of_whatsapp(text: str, path: str) -> Enclosure:
    """Return a conversation of WhatsApp, called by its file, its folder or its people."""
    turns = [_Turn(*each) for each in messages_of(text)]
    folder, _, name = path.rpartition("!/")[2].rpartition("/")
    title = name.rpartition(".")[0]
    if title.startswith("_chat"):
        title = folder.rpartition("/")[2] or f"WhatsApp: {_people(turns)}"
    return _by_days(title, turns)


def _of_parts(text: object) -> str:
    """Return a text of Telegram, which may be in parts."""
    parts: Iterable[object] = text if isinstance(text, list) else [text]
    said = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(part for part in said if isinstance(part, str))


def _of_slack(each: _Json) -> Iterator[_Turn]:
    profile = each.get("user_profile")
    told = profile if isinstance(profile, dict) else {}
    names = (told.get("real_name"), told.get("display_name"), each.get("username"))
    who = next(filter(None, map(text_of, names)), text_of(each.get("user")))
    text = _SLACK.sub(_shown, text_of(each.get("text")))
    for sign, shown in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(sign, shown)
    if text.strip():
        yield _Turn(who, text.strip(), moment_of_json(each.get("ts")))


def _shown(match: re.Match[str]) -> str:
    """Return what a reference in Slack shows: a link with its address, a person by the name."""
    target, label = match[1], match[2] or ""
    if target[:1] in "@#!":
        return f"{target[0]}{label or target[1:]}"
    return f"{label} <{target}>" if label and label != target else target


def _untangled(text: str) -> str:
    """Return what Facebook wrote as if each byte were a character."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


# As Markdown


def _with_assistant(found: _Json, turns: Sequence[_Turn]) -> Enclosure:
    """Return a conversation with an assistant."""
    title = text_of(found.get("title")) or text_of(found.get("name"))
    title = title or (turns[0].text.split("\n")[0][:80] if turns else "")
    created = moment_of_json(found.get("create_time") or found.get("created_at"))
    updated = moment_of_json(found.get("update_time") or found.get("updated_at"))
    said = [f"**{turn.who}:** {_without_headings(turn.text)}" for turn in turns]
    return noted(title, "\n\n".join(said), created=created, updated=updated)


def _when(turn: _Turn) -> datetime:
    return turn.when or datetime.min.replace(tzinfo=UTC)


def _people(turns: Sequence[_Turn]) -> str:
    """Return the names of those who take part, where a conversation has no other."""
    return ", ".join([*dict.fromkeys(turn.who for turn in turns if turn.who)][:_NAMED])


def _by_days(title: str, turns: Sequence[_Turn]) -> Enclosure:
    """Return a conversation of people: each message a line, under its day."""
    lines, day = list[str](), ""
    for turn in turns:
        if turn.when and (today := f"{turn.when:%Y-%m-%d}") != day:
            lines += ["", f"## {today}", ""]
            day = today
        time = f" ({turn.when:%H:%M})" if turn.when else ""
        said = " ".join(_without_headings(turn.text).split("\n"))
        lines.append(f"- {turn.who or 'Somebody'}{time}: {said}")
    whens = [turn.when for turn in turns if turn.when]
    created, updated = (min(whens), max(whens)) if whens else (None, None)
    return noted(title or _people(turns), "\n".join(lines), created=created, updated=updated)


def _without_headings(text: str) -> str:
    """Return what somebody said, its headings in bold: they are none of the conversation."""
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in {"```", "~~~"} and (not fence or mark == fence):
            fence = "" if fence else mark
        match = None if fence else _HEADING.fullmatch(line)
        lines.append(f"**{match[1].rstrip('# ')}**" if match else line)
    return "\n".join([*lines, *([fence] if fence else [])])
