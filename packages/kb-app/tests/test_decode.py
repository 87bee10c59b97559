"""Bytes become text, whatever they are."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.decode import decode, looks_binary

CORPUS = Path(__file__).parents[4] / "shared/data/suites/encodings/uchardet"
CODECS = {
    "ibm852": "cp852",
    "ibm855": "cp855",
    "ibm865": "cp865",
    "ibm866": "cp866",
    "mac-centraleurope": "mac_latin2",
    "mac-cyrillic": "mac_cyrillic",
    "uhc": "cp949",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}
TEXTS = [
    "Hello, world.\nA second line.\n",
    "Grüße an Dédé.\n",
    "Привет, мир.\n",
    "日本語の文章。\n",
]
TEXTS += ["한국어 문장입니다.\n두 번째 줄\n", "שלום עולם\n", "😀 and text\n"]

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts)
def test_utf8_comes_back_as_it_was(text: str) -> None:
    """But for CRLF, a mark, and text that announces another encoding: ESC, or many NUL."""
    if "\x1b" in text or "\0" in text:
        return
    decoded = decode(text.encode())

    assert decoded.text == text.removeprefix("\ufeff").replace("\r\n", "\n")
    assert decoded.warnings == ()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_every_form_of_unicode_is_recognised(text: str, encoding: str) -> None:
    data = text.replace("\n", "\r\n").encode(encoding)

    assert decode(data).text == text
    assert not looks_binary(data)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF32_BE, codecs.BOM_UTF16_BE])
def test_marks_of_the_other_byte_order_count(mark: bytes) -> None:
    encoding = "utf-32-be" if len(mark) == 4 else "utf-16-be"

    assert decode(mark + "x\r\ny".encode(encoding)).text == "x\ny"


def test_a_nul_and_a_lone_cr_are_characters() -> None:
    assert decode(b"a\0b\rc\x0c\r\nd").text == "a\0b\rc\x0c\nd"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Un café à Nîmes, déjà vu.", "cp1252"),
        ("¿Dónde está el niño?", "latin-1"),
        ("„Schöne Grüße“ – Straße", "cp1252"),
        ("Быстрая лиса прыгает через ленивую собаку, и так каждый день.", "koi8-r"),
        ("Быстрая лиса прыгает через ленивую собаку, и так каждый день.", "cp1251"),
        ("これは日本語の文章です。漢字とかなが混ざっています。", "shift_jis"),
        ("これは日本語の文章です。漢字とかなが混ざっています。", "euc_jp"),
        ("これは日本語の文章です。", "iso2022_jp"),
        ("이것은 한국어로 쓴 문장입니다. 글자가 제법 많습니다.", "cp949"),
        ("이것은 한국어로 쓴 문장입니다.", "iso2022_kr"),
        ("这是一个用中文写的句子,里面有不少汉字。", "gb18030"),
    ],
)
def test_older_encodings_are_recognised(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text
    assert not looks_binary(text.encode(encoding))


WORDS = {
    "cp949": "한국 서울 회의 이름 주소 전화 시간 학교 문서 파일 가격 합계 고객 주문 완료 검색",
    "cp932": "日本 東京 会議 名前 住所 電話 文書 設定 ファイル 削除 価格 合計 注文 完了 はい",
    "euc_jp": "日本 東京 会議 名前 住所 時間 学校 文書 設定 ファイル 削除 価格 合計 注文 完了 はい",
    "gb18030": "中国 北京 会议 名称 地址 电话 时间 文档 设置 文件 删除 合计 完成 搜索 保存",
    "big5": "台灣 台北 會議 名稱 地址 電話 時間 學校 設定 檔案 刪除 價格 使用者 完成 搜尋",
    "cp1251": "Россия Москва встреча имя адрес время школа документ удалить цена заказ",
    "koi8_r": "Россия Москва встреча имя адрес время школа документ удалить цена заказ",
    "cp1253": "Ελλάδα Αθήνα όνομα διεύθυνση τηλέφωνο αρχείο",
    "cp1252": "Müller Nîmes niño É à © ½ 5€ 10µm x² Größe Söhne São",
}


@pytest.mark.parametrize("encoding", WORDS)
def test_one_word_is_enough(encoding: str) -> None:
    """Of a line such as ``name=…`` the rest is ASCII; no language was told by so little."""
    for word in WORDS[encoding].split():
        text = f"name={word}\n"
        assert decode(text.encode(encoding)).text == text


@given(st.binary(max_size=40))
def test_what_has_no_nul_and_no_mark_is_never_taken_for_utf16(data: bytes) -> None:
    data = b"key=" + data.replace(b"\0", b"0")

    assert not decode(data).encoding.replace("_", "-").startswith(("utf-16", "utf-32", "utf-7"))


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<?xml version="1.0" encoding="ISO-8859-15"?>\n<p>Œuvre à 5 €</p>\n', "iso8859-15"),
        ("<?xml version='1.0' encoding='ISO-8859-2'?>\n<p>Źrebię</p>\n", "iso8859-2"),
        ("# -*- coding: euc-kr -*-\nX = '펲'\n", "cp949"),
        ("#!/usr/bin/python\n# vim: set fileencoding=iso-8859-7 :\nX = 'Ώ'\n", "iso8859-7"),
    ],
)
def test_what_a_text_says_of_its_encoding_is_believed(head: str, encoding: str) -> None:
    assert decode(head.encode(encoding)).text == head


@pytest.mark.parametrize("said", ["utf-16", "no-such", "rot13", "undefined", "utf-8"])
def test_what_cannot_be_the_encoding_is_not_believed(said: str) -> None:
    text = f"# coding: {said}\nX = 'Größe'\n"

    assert decode(text.encode("cp1252")).text == text
    assert decode(text.encode()).text == text


def test_an_encoding_is_said_at_the_top_only() -> None:
    text = "\n\n# coding: koi8-r\nGröße\n"

    assert decode(text.encode("cp1252")).text == text


def test_a_flaw_in_utf8_costs_a_character_not_the_text() -> None:
    decoded = decode("Größe und Maß: ".encode() * 20 + b"\xff\xfe end")

    assert decoded.text.startswith("Größe und Maß")
    assert decoded.text.endswith("\ufffd\ufffd end")
    assert decoded.warnings == ("encoding: 2 places were not utf-8 and were replaced",)


@given(st.binary(max_size=300))
def test_no_bytes_lose_the_file(data: bytes) -> None:
    decoded = decode(data)

    decoded.text.encode()
    assert "\r\n" not in decoded.text
    assert decoded.text or len(data) <= 4  # a mark and nothing else


def test_one_strange_character_far_down_is_still_found() -> None:
    data = b"plain ascii\n" * 100_000 + "Übermut\n".encode("cp1252")

    assert decode(data).text.endswith("Übermut\n")


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of encodings is not here")
def test_the_corpus_of_uchardet() -> None:
    """96 of 119 files are decoded equal to what they say, every file nearly so.

    Most of the others are ISO 8859 relatives that differ from a Windows code page in a few
    letters; ``viscii`` and ``euc-tw`` have no codec in Python.
    """
    equal, close, total = 0, 0, 0
    for path in sorted(CORPUS.glob("*/*")):
        name = path.name.removesuffix(".txt").removesuffix(".smi").replace(".le", "")
        encoding = CODECS.get(name.replace(".be", ""), name.replace(".be", ""))
        try:
            text = path.read_bytes().decode(encoding)
        except LookupError:
            continue
        true = text.removeprefix("\ufeff").replace("\r\n", "\n")
        found = decode(path.read_bytes()).text
        wrong = sum(a != b for a, b in zip(true, found, strict=False))
        total += 1
        equal += found == true
        close += len(found) == len(true) and wrong <= 0.07 * len(true)

    print(f"{equal} of {total} equal, {close} close")
    assert total >= 119
    assert equal >= 96
    assert close == total
