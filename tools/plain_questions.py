"""Write what the default model makes of questions that ask nothing in particular.

    python tools/plain_questions.py                write packages/kb-search/src/kb_search/embed
    python tools/plain_questions.py check [DIR]    exit 1 if the committed file differs

The model is prepared in DIR, by default ``.cache/models``.

``kb_search.embed.plain`` takes part of it out of each question. A row is the mean of the
questions of a language; those about code differ more than languages do, and are a row each. The
languages are the common ones of what the model read; the rest is near to one of these.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kb_core.quantization import dequantize, quantize
from kb_search.embed import load_embedder
from kb_search.embed.plain import FILE

__all__ = ["OF_CODE", "OF_LANGUAGES", "main", "plain_questions"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "packages" / "kb-search" / "src" / "kb_search" / "embed"
MODEL = "multilingual-e5-small"
ALIKE = 0.9995
"""The cosine from which on rows are the same: last digits differ between processors."""

OF_LANGUAGES = """
What is it?|Who did this?|When did it happen?|Where is it?|Why is that so?|How does it work?|How much is it?|Which one is right?|Is that true?
Was ist das?|Wer hat das gemacht?|Wann ist es passiert?|Wo ist es?|Warum ist das so?|Wie funktioniert es?|Wie viel ist es?|Welches ist richtig?|Stimmt das?
Qu'est-ce que c'est ?|Qui a fait cela ?|Quand est-ce arrivé ?|Où est-ce ?|Pourquoi est-ce ainsi ?|Comment ça marche ?|Combien est-ce ?|Lequel est correct ?|Est-ce vrai ?
¿Qué es?|¿Quién hizo esto?|¿Cuándo ocurrió?|¿Dónde está?|¿Por qué es así?|¿Cómo funciona?|¿Cuánto es?|¿Cuál es correcto?|¿Es verdad?
Che cos'è?|Chi l'ha fatto?|Quando è successo?|Dov'è?|Perché è così?|Come funziona?|Quanto è?|Quale è giusto?|È vero?
O que é isto?|Quem fez isto?|Quando aconteceu?|Onde fica?|Por que é assim?|Como funciona?|Quanto é?|Qual é o correto?|É verdade?
Wat is het?|Wie heeft dit gedaan?|Wanneer is het gebeurd?|Waar is het?|Waarom is dat zo?|Hoe werkt het?|Hoeveel is het?|Welke is juist?|Klopt dat?
Co to jest?|Kto to zrobił?|Kiedy to się stało?|Gdzie to jest?|Dlaczego tak jest?|Jak to działa?|Ile to jest?|Który jest właściwy?|Czy to prawda?
Co to je?|Kdo to udělal?|Kdy se to stalo?|Kde to je?|Proč je to tak?|Jak to funguje?|Kolik to je?|Který je správný?|Je to pravda?
Vad är det?|Vem gjorde detta?|När hände det?|Var är det?|Varför är det så?|Hur fungerar det?|Hur mycket är det?|Vilken är rätt?|Är det sant?
Что это?|Кто это сделал?|Когда это произошло?|Где это?|Почему это так?|Как это работает?|Сколько это?|Какой из них верный?|Это правда?
Що це?|Хто це зробив?|Коли це сталося?|Де це?|Чому це так?|Як це працює?|Скільки це?|Який з них правильний?|Це правда?
Τι είναι αυτό;|Ποιος το έκανε;|Πότε συνέβη;|Πού είναι;|Γιατί είναι έτσι;|Πώς λειτουργεί;|Πόσο είναι;|Ποιο είναι σωστό;|Είναι αλήθεια;
Bu nedir?|Bunu kim yaptı?|Ne zaman oldu?|Nerede?|Neden böyle?|Nasıl çalışır?|Ne kadar?|Hangisi doğru?|Bu doğru mu?
ما هذا؟|من فعل هذا؟|متى حدث ذلك؟|أين هو؟|لماذا هو كذلك؟|كيف يعمل؟|كم هو؟|أيهما صحيح؟|هل هذا صحيح؟
מה זה?|מי עשה את זה?|מתי זה קרה?|איפה זה?|למה זה כך?|איך זה עובד?|כמה זה?|איזה נכון?|האם זה נכון?
این چیست؟|چه کسی این کار را کرد؟|چه زمانی اتفاق افتاد؟|کجاست؟|چرا این طور است؟|چگونه کار می‌کند؟|چقدر است؟|کدام درست است؟|آیا درست است؟
यह क्या है?|यह किसने किया?|यह कब हुआ?|यह कहाँ है?|ऐसा क्यों है?|यह कैसे काम करता है?|यह कितना है?|कौन सा सही है?|क्या यह सच है?
นี่คืออะไร|ใครทำสิ่งนี้|เกิดขึ้นเมื่อไหร่|อยู่ที่ไหน|ทำไมเป็นอย่างนั้น|มันทำงานอย่างไร|เท่าไหร่|อันไหนถูกต้อง|จริงไหม
Đây là gì?|Ai đã làm điều này?|Nó xảy ra khi nào?|Nó ở đâu?|Tại sao lại như vậy?|Nó hoạt động như thế nào?|Bao nhiêu?|Cái nào đúng?|Điều đó có đúng không?
Apa ini?|Siapa yang melakukan ini?|Kapan itu terjadi?|Di mana itu?|Mengapa begitu?|Bagaimana cara kerjanya?|Berapa banyak?|Mana yang benar?|Apakah itu benar?
这是什么？|谁做的？|什么时候发生的？|在哪里？|为什么会这样？|它是怎么工作的？|多少？|哪一个是对的？|是真的吗？
これは何ですか？|誰がやったのですか？|いつ起こりましたか？|どこにありますか？|なぜそうなのですか？|どのように動作しますか？|いくつですか？|どれが正しいですか？|それは本当ですか？
이것은 무엇입니까?|누가 했습니까?|언제 일어났습니까?|어디에 있습니까?|왜 그렇습니까?|어떻게 작동합니까?|얼마입니까?|어느 것이 맞습니까?|그것이 사실입니까?
"""  # noqa: E501 - a line is a language
OF_CODE = (
    "how to do this in code",
    "how to do it in python",
    "function that returns it",
    "javascript get the value",
    "java method to convert it",
    "check if it is set",
    "write a function for this",
    "how to call this function",
    "where is this defined",
    "c++ create an object",
    "which test covers this",
)


def plain_questions(cache_dir: Path) -> list[bytes]:
    """Return the rows, quantised as passages are."""
    model = load_embedder(MODEL, cache_dir=cache_dir)
    groups = [line.split("|") for line in OF_LANGUAGES.strip().splitlines()]
    groups += [[question] for question in OF_CODE]
    return [quantize(_mean([model.embed_query(text) for text in group])) for group in groups]


def _mean(vectors: Sequence[bytes]) -> list[float]:
    rows = np.stack([np.frombuffer(vector, "<f4") for vector in vectors])
    mean: list[float] = rows.mean(axis=0, dtype=np.float64).tolist()
    return mean


def same(rows: Sequence[bytes], others: Sequence[bytes]) -> bool:
    """Say whether two lists of rows are the same but for their last digits."""
    if len(rows) != len(others):
        return False
    pairs = zip(map(dequantize, rows), map(dequantize, others), strict=True)
    return all(np.dot(a, b) >= ALIKE * np.linalg.norm(a) * np.linalg.norm(b) for a, b in pairs)


def main(words: Sequence[str] | None = None) -> int:
    """Write the file, or compare."""
    asked = list(sys.argv[1:] if words is None else words)
    rows = plain_questions(Path(asked[1]) if asked[1:] else ROOT / ".cache" / "models")
    there = FOLDER / FILE
    if asked[:1] == ["check"]:
        kept = there.read_bytes()
        size = len(rows[0])
        is_same = same(rows, [kept[at : at + size] for at in range(0, len(kept), size)])
        print("the plain questions are the committed ones" if is_same else "they differ")
        return int(not is_same)
    there.write_bytes(b"".join(rows))
    print(f"{len(rows)} rows were written to {there.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
