"""What kind of answer a question asks for, and whether a sentence has it."""

from __future__ import annotations

import pytest

from kb_app._ask.kinds import is_unlisted, lacks, marked


@pytest.mark.parametrize(
    ("question", "text", "is_lacking"),
    [
        ("when did the founder die", "He founded it in a bakery.", True),
        ("when did the founder die", "He died in 1902.", False),
        ("when was the crane painted", "The crane is painted in April.", False),
        ("when was the mill closed", "The mill closed after the war.", False),
        ("when is the cache emptied", "It is emptied once nobody reads it.", False),
        ("how many rooms has the flat", "The flat is small.", True),
        ("how many rooms has the flat", "The flat has three rooms.", False),
        ("how much of it is true", "Nothing of it is true.", False),
        ("wann starb der Komponist", "Er starb verarmt.", True),
        ("cuándo murió la compositora", "Murió en 1967 en Toledo.", False),
        ("quel âge avait le traducteur", "Il est mort à Vannes.", True),
        ("松風社の設立者は何年に生まれましたか", "松風社は博物館である。", True),
        ("松风社的创立者是哪一年出生的？", "他1848年出生于长浜。", False),
        ("who was it", "Nobody knows.", False),
        ("how old is the landlady", "The flat is 780 €, from 10 April.", True),
        ("how old is the landlady", "Martha Keller, born 3 May 1950.", False),
        ("how old is the landlady", "Martha Keller (71)", False),
        ("what did the new disk cost", "The disk is new: a restore took 5 hours.", True),
        ("what did the new disk cost", "The disk is new, 119 euros.", False),
        ("was kostet eine Stunde", "Donnerstags 16:15, 32 € die Stunde.", False),
        ("wie schwer ist die Katze", "Kater, 4 Jahre, kostete 120 €.", True),
        ("wie lange dauert es", "Das kostet 12 €.", True),
        ("how far is the lake", "It is 20 minutes by bike.", False),
        ("how many calories has the soup", "It takes 35 minutes and 4 euros.", True),
        ("how many potatoes does it take", "1.2 kg of potatoes, 75 minutes.", False),
        ("combien de crème faut-il", "50 cl de crème", False),
        ("combien de tasses faut-il", "Cuire à 160 °C.", True),
        ("how many guests came", "There were 2000 of them.", False),
        ("how many euros is it", "It is 20 km.", True),
        ("quel âge a le voisin", "Il paie 75 € de charges.", True),
        ("¿cuántos tenores hay?", "Somos tres, y la cuota es de 15 €.", False),
        ("сколько лет соседке", "До города 70 км, дорога стоит 300 рублей.", True),
        ("сколько лет соседке", "Крышу перекрыли в 2021 году.", True),
        ("сколько лет соседке", "Баню топить три часа, колодец десять метров.", True),
        ("quel âge a le voisin", "Il était là du 10 au 24 août.", True),
        ("先生は何歳ですか", "2009年からリンダウに住んでいる。発表会は12月12日。", True),
        ("先生は何歳ですか", "ピアノの先生。2009年からここに住んでいる。", True),
        ("сколько весит собака", "Телефон 0171 555 0933.", True),
        ("quel âge a le voisin", "Marée haute à 7 h 12, charges 75 €.", True),
        ("what is Ann's phone number", "Ann lives at 12 Mill Road, flat 3.", True),
        ("what is Ann's phone number", "Ann: +351 912 000 417", False),
        ("what is Ann's phone number", "Ann has the chip 276098104412345.", True),
        ("what is Ann's phone number", "Ann came on 2024-03-12.", True),
        ("宿の電話番号は何ですか", "予約番号はHK-20931。", True),
        ("wie ist die Mailadresse", "Er wohnt in Lindau.", True),
        ("wie ist die IBAN", "DE02 7315 0000 0010 2233 44", False),
        ("先生は何歳ですか", "1975年に金沢で生まれた。", False),
        ("部屋はいくらですか", "徒歩4分、15時から。", True),
        ("部屋はいくらですか", "一泊14,800円。", False),
        ("how tall is the apple tree", "Two are for beans. The butt holds 200 litres.", True),
        ("how tall is the apple tree", "It is 4 m by now.", False),
        ("what time does he come", "£18 each time, cash, every eight weeks", True),
        ("what time does he come", "He comes at 9, cash.", False),
        ("um wie viel Uhr kommt er", "Er kommt alle acht Wochen.", True),
        ("at what time of the year is it", "It is from 3 May on.", False),
        ("combien coûtait le logement", "Très bien chauffé.", True),
        ("what does it cost", "It is free.", False),
        ("was hat der Otter gekostet", "Am 14. April waren 38 Leute da.", True),
        ("was hat der Otter gekostet", "Er kostete 38 Kronen.", False),
        ("what is the yearly fee", "§ 4 says so, as No. 12 and VR 2214 do.", True),
        ("wie hoch ist der Beitrag", "Nr. 40-118, bis 3. Mai.", True),
        ("wie hoch ist der Beitrag", "Familien | 290 |", False),
        ("quel âge a Clotilde", "Clotilde Roy : thèse depuis novembre 2022", True),
        ("quel âge a Clotilde", "Le journal a publié, le 3 juin 2023, une photo.", True),
        ("wie alt ist Torben", "Torben leitet es, 19 bis 20.30 Uhr.", True),
        ("when did it move", "It moved in May.", False),
        ("à quelle heure est la réunion", "Le jeudi à 14 h, en salle 3.", False),
        ("a qué hora empieza", "A las 9 horas.", False),
        ("a qué hora empieza", "Son 95 €, como máximo ocho plazas.", True),
        ("what time is the wedding", "On 21 June, £600, two sets of 45 minutes.", True),
        ("what time is it", "9 or so", False),
        ("qué edad tienen los fósiles", "Tienen unos 515 millones de años.", False),
        ("有效期是多长时间？", "有效期二十年。", False),
        ("when was it reflected upon", "It was a matter of the 1950s.", False),
        ("wann war das", "In den 1970ern.", False),
        ("how many treaties say so", "None of the treaties does.", False),
        ("目前学校有几个校区？", "现学校在南宁市内有两个校区。", False),
        ("仏教の割合はいくらか", "上座部仏教が60%である。", False),
        ("何時頃から頻繁になったか", "1970年代からだ。", False),
        ("what time does she come", "On the last Friday of the month.", True),
        ("what time does she come", "On Friday evenings.", False),
        ("um wie viel Uhr kommt sie", "Am Freitagabend nach der Arbeit.", False),
        ("how tall is the lift", "Rated 3.2 t.", True),
        ("how long does it take", "It takes 3 hours.", False),
        ("how many hours is it", "It is 3 h.", False),
        ("how far is it", "3 hours", False),
        ("wie alt ist Torben", "Dort stehen drei Stück.", True),
        ("先生は何歳ですか", "会費は年に3600円で、四月に集めます。月に二回。", True),
        ("毛布は何枚ありますか", "毛布40枚", False),
        ("¿cuánto es el alquiler?", "Se paga el día 5 y subirá un 3 % en enero.", True),
        ("¿cuántas tazas vendimos?", "Es el 14 y el 15 de septiembre, por 60 €.", True),
        ("how much did the ferry cost", "On 27 July, cabin 7114, from the 28th on.", True),
        ("how much did it cost", "It was 12 pounds.", False),
    ],
)
def test_what_lacks_the_number_or_the_date_that_is_asked_for_is_known(
    question: str, text: str, is_lacking: bool
) -> None:
    assert lacks(text, question) is is_lacking


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("how many rooms are there", "There are 12 rooms.", "12"),
        ("what did the disk cost", "On 3 May it was 119 € for 4 TB.", "119 €"),
        ("what did the disk cost", "It was $ 1,190.", "$ 1,190"),
        ("wie schwer ist sie", "Am 3. März 2026 waren es 5,1 kg.", "5,1 kg"),
        ("部屋はいくらですか", "部屋は14,800円、徒歩4分。", "14,800円"),
        ("what did the disk cost", "It was 119 € or 129 €.", None),
        ("chez qui avons-nous logé", "Logement chez Madame Ratel, bien chauffé.", "Madame Ratel"),
        ("le site qui est là", "Il est à Modane.", None),
        ("wann ist die Regatta", "Am dritten Wochenende im Juni, 900 m.", "im Juni"),
        ("how many parts has it", "M4 has 12 parts.", "12"),
    ],
)
def test_the_answer_itself_is_the_one_thing_of_the_kind_that_is_asked_for(
    question: str, text: str, answer: str | None
) -> None:
    span = marked(text, question)

    assert (span and text[slice(*span)]) == answer


@pytest.mark.parametrize(
    ("question", "is_not_there"),
    [
        ("wie viel Milch brauche ich", True),
        ("wie viel Mehl brauche ich", False),
        ("wie viele Eier brauche ich", False),
        ("wie viele Äpfel brauche ich", False),
        ("wie viel kostet der Kuchen", False),
        ("how many onions do I need", True),
        ("how much time does it take", False),
        ("how much does it take", False),
        ("¿cuántas cebollas lleva?", True),
        ("combien d'œufs faut-il", True),
    ],
)
def test_a_list_of_amounts_says_of_what_each_is(question: str, *, is_not_there: bool) -> None:
    """Perhaps by a compound."""
    listed = "1 kg Boskoopäpfel, 250 g Dinkelmehl, 125 g Butter, 2 Eier, 100 g Rohrzucker."

    assert is_unlisted(listed, question) is is_not_there
    assert not is_unlisted("Nimm 250 g davon, dazu etwas Butter.", question)
