"""Conversations that programs export: each is a document, as Markdown."""

from __future__ import annotations

import json

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import Caps, Skip, detect
from kb_app._ingest.making.chats import chats_of
from kb_app._ingest.making.noted import NoExportError
from kb_app._ingest.making.parsing import enclosed_bytes, judge_bytes
from kb_app._media import parser_for
from kb_core.documents import SourceFile


def read(exported: object, name: str = "conversations.json") -> list[tuple[str, str]]:
    data = json.dumps(exported).encode()
    return [(each.name, each.data.decode()) for each in chats_of(data, name)]


def judged(data: bytes, name: str) -> str:
    kind = detect(name)
    assert kind is not None
    file = SourceFile(source_id="s", path=name, media=kind.media, code_lang=kind.code_lang)
    found = judge_bytes(file, data, Caps())
    return found.detail if isinstance(found, Skip) else found.media


def node(role: str, text: str, parent: str | None) -> dict[str, object]:
    content = {"content_type": "text", "parts": [text, {"asset_pointer": "file-1"}]}
    return {
        "message": {"author": {"role": role}, "create_time": 1714996900.5, "content": content},
        "parent": parent,
    }


CHATGPT = [
    {
        "title": "Sourdough at 22 °C",
        "create_time": 1714996800.0,
        "update_time": 1714997000.0,
        "mapping": {
            "root": {"message": None, "parent": None},
            "a": node("system", "You are helpful.", "root"),
            "b": node("user", "How long does it rise?", "a"),
            "c": node("assistant", "Two hours.", "b"),
            "d": node("assistant", "## Rise\n\nFour hours.\n\n```\n# no heading\n```", "b"),
        },
        "current_node": "d",
    },
    {"title": "Empty", "mapping": {}, "current_node": None},
]


def test_a_conversation_with_an_assistant_is_the_branch_that_was_last() -> None:
    (name, text), _ = read(CHATGPT)

    assert name == "Sourdough at 22 °C.md"
    assert text == (
        '---\ntitle: "Sourdough at 22 °C"\ncreated: 2024-05-06T12:00:00+0000\n'
        "updated: 2024-05-06T12:03:20+0000\n---\n\n"
        "**You:** How long does it rise?\n\n"
        "**Assistant:** **Rise**\n\nFour hours.\n\n```\n# no heading\n```\n"
    )


def test_an_attachment_that_was_read_into_a_conversation_is_part_of_it() -> None:
    attached = [{"file_name": "plan.txt", "extracted_content": "We go at nine."}]
    messages = [
        {"sender": "human", "text": "What is in it?", "attachments": attached},
        {"sender": "assistant", "content": [{"type": "text", "text": "A plan."}], "text": ""},
    ]
    told = {"name": "", "created_at": "2024-05-06T12:00:00.123Z", "chat_messages": messages}

    ((name, text),) = read([told])

    assert name == "What is in it?.md"
    assert text.endswith(
        "**You:** What is in it?\n\nplan.txt:\n\nWe go at nine.\n\n**Assistant:** A plan.\n"
    )


def test_messages_of_people_are_lines_under_their_days() -> None:
    messages = [
        {"id": 1, "type": "message", "date": "2024-05-06T12:30:00", "from": "Ann", "from_id": "u1",
         "text": ["See ", {"type": "link", "text": "https://example.org"}, "\nsoon"]},
        {"id": 2, "type": "message", "date": "2024-05-07T09:00:00", "from": "Bob", "text": "Yes."},
        {"id": 3, "type": "service", "date": "2024-05-07T09:00:01", "actor": "Bob", "text": ""},
    ]  # fmt: skip
    lines = (
        "\n## 2024-05-06\n\n- Ann (12:30): See https://example.org soon\n"
        "\n## 2024-05-07\n\n- Bob (09:00): Yes.\n"
    )

    one = {"name": "Ann", "type": "personal_chat", "messages": messages}
    whole = {"about": "…", "chats": {"about": "…", "list": [one, {"name": "Nobody"}]}}

    for exported in (one, whole):
        ((name, text),) = read(exported, "result.json")
        assert name == "Ann.md"
        assert text.endswith(lines)


DISCORD = {
    "guild": {"id": "1", "name": "Boards"},
    "channel": {"type": "GuildTextChat", "name": "general"},
    "messages": [
        {
            "timestamp": "2023-12-24T18:03:11.123+00:00",
            "content": "Who has the map?",
            "author": {"name": "mira", "nickname": "Mira"},
            "attachments": [{"fileName": "map.png"}],
        },
        {"timestamp": "2023-12-24T18:05:00+00:00", "content": "I do", "author": {"name": "otto"}},
        {"timestamp": "2023-12-24T18:06:00+00:00", "content": "", "author": {"name": "otto"}},
    ],
}
GOOGLE = {
    "messages": [
        {
            "creator": {"name": "Ann Lee", "email": "a@e.org"},
            "created_date": "Tuesday, March 12, 2024 at 6:05:11\u202fPM UTC",
            "text": "At nine?",
        },
        {"creator": {"name": "Bo"}, "created_date": "Dienstag, 12. März 2024", "text": "Yes"},
    ]
}


@pytest.mark.parametrize(
    ("exported", "path", "expected"),
    [
        (
            DISCORD,
            "Boards - general [123456789012345678].json",
            ("Boards: general", "- Mira (18:03): Who has the map? map.png\n- otto (18:05): I do\n"),
        ),
        (GOOGLE, "DM 1/messages.json", ("Bo, Ann Lee", "- Bo: Yes\n\n## 2024-03-12\n\n- Ann Lee")),
    ],
)
def test_channels_and_groups_have_names_and_those_without_those_of_their_people(
    exported: object, path: str, expected: tuple[str, str]
) -> None:
    ((name, text),) = read(exported, path)

    assert judged(json.dumps(exported).encode(), path) == "mail"
    assert name == f"{expected[0]}.md"
    assert expected[1] in text


TEXTS = b"""<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<!--File Created By SMS Backup & Restore-->
<smses count="4" backup_date="1700000000000">
<sms address="+451" date="1700000100000" type="2" body="I leave it open &#55357;&#56832;"
  contact_name="Ann" />
<sms address="+451" date="1700000000000" type="1" body="At noon?" contact_name="Ann" />
<sms address="+452" date="1700000000000" type="1" body="Parcel" contact_name="(Unknown)" />
<mms address="+451" date="1700000200000" msg_box="1" contact_name="Ann"><parts>
<part ct="image/jpeg" data="AAAA" /><part ct="text/plain" text="See you" /></parts></mms>
"""


@pytest.mark.parametrize("end", [b"</smses>", b"<sms"])
def test_messages_of_a_telephone_are_conversations_with_each_number(end: bytes) -> None:
    found: list[tuple[str, str]] = []
    try:
        found.extend((each.name, each.data.decode()) for each in chats_of(TEXTS + end, "sms.xml"))
    except NoExportError:
        assert end == b"<sms"

    assert judged(TEXTS + end, "phone/backup.xml") == "mail"
    assert [name for name, _ in found] == ["Ann.md", "+452.md"]
    assert found[0][1].endswith(
        "## 2023-11-14\n\n- Ann (22:13): At noon?\n- Me (22:15): I leave it open 😀\n"
        "- Ann (22:16): See you\n"
    )


def test_a_day_of_a_channel_is_called_by_both() -> None:
    messages = [
        {"type": "message", "user": "U1", "user_profile": {"real_name": "Ann Lee"},
         "ts": "1714996800.0001", "text": "<@U2|bob> see <https://example.org|here> &amp; there"},
        {"type": "message", "user": "U2", "ts": "1714996860.0001", "text": "Done"},
    ]  # fmt: skip

    ((name, text),) = read(messages, "slack/general/2024-05-06.json")

    assert name == "general 2024-05-06.md"
    assert "- Ann Lee (12:00): @bob see here <https://example.org> & there\n" in text
    assert "- U2 (12:01): Done\n" in text


def test_words_that_were_written_byte_by_byte_are_read() -> None:
    name, said = (word.encode().decode("latin-1") for word in ("Zoë", "später"))
    messages = [
        {"sender_name": name, "timestamp_ms": 1714996860000, "content": said},
        {"sender_name": "Ann", "timestamp_ms": 1714996800000, "content": "Wann?"},
    ]

    ((called, text),) = read({"title": name, "messages": messages}, "message_1.json")

    assert called == "Zoë.md"
    assert text.endswith("- Ann (12:00): Wann?\n- Zoë (12:01): später\n")


def test_what_is_called_so_and_is_no_export_stays_code() -> None:
    assert judged(json.dumps(CHATGPT).encode(), "conversations.json") == "mail"
    assert judged(b'{"result": [1, 2]}', "result.json") == "code"
    assert judged(b'[{"day": 1}]', "2024-05-06.json") == "code"
    assert judged(b'{"a": "' + b"x" * 2_000_000 + b'"}', "messages.json").startswith("1953 kB")


def test_an_export_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    data = json.dumps(CHATGPT).encode()[:-40]
    file = SourceFile(source_id="s", path="conversations.json", media="mail")

    document = parser_for("mail")(FileContent(data), file)

    assert [each.name for each in document.enclosures] == ["Sourdough at 22 °C.md"]
    assert document.warnings[0].startswith("conversations are read as far as it is whole: ")


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'[{"mapping": {"a": 1, "b": {"message": {"author": []}}}, "current_node": ["b"]}]',
        b'{"mapping": {"a": {"parent": "a"}}, "current_node": "a", "create_time": 1e300}',
        b'{"chat_messages": [1, {"sender": 3, "text": null, "content": [{}], "attachments": 1}]}',
        b'{"chats": {"list": [{"messages": [{"date": [], "from": {}, "text": [1, null]}]}]}}',
        b'[{"type": "message", "ts": "1e999", "text": "x", "user_profile": 3}, {"ts": 1}]',
        b'{"messages": [{"sender_name": "a", "timestamp_ms": 1e400, "content": "b"}]}',
        b"\xff\xfe[]",
        b"",
    ],
)
def test_whatever_is_in_it_there_are_conversations_or_a_reason(data: bytes) -> None:
    try:
        found = list(chats_of(data, "conversations.json"))
    except NoExportError:
        return
    assert all(each.data for each in found)


MARK, NARROW = "\u200e", "\u202f"


@pytest.mark.parametrize(
    ("exported", "expected"),
    [
        (
            (
                f"[12.03.24, 18:05:11] Ann: {MARK}Nachrichten sind Ende-zu-Ende-verschlüsselt.\r\n"
                "[12.03.24, 18:05:11] Ann: Kommst du?\r\nUm acht: pünktlich\r\n"
                f"{MARK}[13.03.24, 18:06:00] Tom: {MARK}<Anhang: 00000004-Rechnung Keller.pdf>\r\n"
                f"{MARK}[13.03.24, 18:06:30] Tom: {MARK}<Anhang: 00000005-PHOTO-2024-03-13.jpg>\r\n"
                f"{MARK}[13.03.24, 18:07:00] Tom: {MARK}Bild weggelassen\r\n"
                f"[13.03.24, 18:08:00] ~{NARROW}Tom: ja {MARK}<Die Nachricht wurde bearbeitet.>\r\n"
            ),
            (
                "2024-03-12|Ann (18:05): Kommst du? Um acht: pünktlich|2024-03-13"
                "|Tom (18:06): 00000004-Rechnung Keller.pdf|Tom (18:08): ja"
            ),
        ),
        (
            (
                f"4/2/24, 11:05{NARROW}PM - Messages are end-to-end encrypted. Tap to learn more.\n"
                f"4/2/24, 11:05{NARROW}PM - Ann: hi\n4/3/24, 12:05{NARROW}AM - Tom: <Media left>\n"
                f"5/1/24, 12:06{NARROW}AM - Tom: IMG-20240501-WA0001.jpg (file attached)\nlook\n"
            ),
            "2024-04-02|Ann (23:05): hi|2024-05-01|Tom (00:06): look",
        ),
        (
            "12/3/24, 6:05 p. m. - Ana: hola\n13/3/24, 6:05 a. m. - Zoé: ¿qué?\n",
            "2024-03-12|Ana (18:05): hola|2024-03-13|Zoé (06:05): ¿qué?",
        ),
        (
            (
                "02/03/2024 à 18:05 - Ana: oui\n02/03/2024 à 18:06 - Zoé a modifié le groupe\n"
                "01/04/2024 à 18:06 - Zoé: non\n"
            ),
            "2024-03-02|Ana (18:05): oui|2024-04-01|Zoé (18:06): non",
        ),
        (
            "2024년 3월 12일 오후 6:05, 민수 : 안녕\n2024년 3월 12일 오전 12:06, 철수 : 그래\n",
            "2024-03-12|민수 (18:05): 안녕|철수 (00:06): 그래",
        ),
        (
            f"[2024/3/12 下午6:05:11] 王: {MARK}加密\n[2024/3/12 下午6:05:11] 王: 你好\n",
            "2024-03-12|王 (18:05): 你好",
        ),
    ],
)
def test_texts_of_whatsapp_are_conversations(exported: str, expected: str) -> None:
    """Whatever the order of the day and the month, and before or after noon."""
    path, data = "WhatsApp Chat - Ann/_chat.txt", exported.encode()
    assert judged(data, path) == "mail"

    parsed = parser_for("mail")(
        FileContent(data), SourceFile(source_id="s", path=path, media="mail")
    )
    ((name, text),) = [(each.name, each.data.decode()) for each in parsed.enclosures]
    lines = [line.strip("#- ") for line in text.split("---\n")[2].split("\n")]
    assert "|".join(filter(None, lines)) == expected
    assert (name, text.count("\ncreated: 2024-0")) == ("WhatsApp Chat - Ann.md", 1)
    assert enclosed_bytes(f"{path}!/{name}", path, data) == text.encode()


def test_a_conversation_that_has_no_name_is_called_by_its_people() -> None:
    data = b"12.03.24, 18:05 - Ann: a\n12.03.24, 18:05 - Tom: b\n12.03.24, 18:05 - Ann: c\n"

    assert [each.name for each in chats_of(data, "_chat.txt")] == ["WhatsApp: Ann, Tom.md"]
    (named,) = chats_of(data, "x/WhatsApp Chat with Ann.txt")
    assert named.name == "WhatsApp Chat with Ann.md"


@pytest.mark.parametrize(
    "text",
    [
        "[2024-03-12 18:05:11] INFO: begun\n[2024-03-12 18:05:12] WARN: ended\n",
        "2024-03-12 18:05:11 - INFO: begun\n2024-03-12 18:05:12 - WARN: ended\n",
        "12.03.24, 18:05 - Ann: one message alone\n",
        "12 eggs\n3 apples: red\n",
    ],
)
def test_logs_and_lists_are_no_conversations(text: str) -> None:
    assert judged(text.encode(), "notes.txt") == "text"
