"""Made-up facts in six languages, and questions that join two of them.

Each block is a pair of notes and what can be asked of them: ``2`` joins both notes, ``1`` is
answered by one, each with the words that the answer has to have; ``0`` would join two, and
``n`` would be answered by one, and no note says it. Some ones have the shape of a question that
joins facts, and stand in one note. Nothing of it is true. The blocks from Marlowe on were
written when the rules were there, and what no note of them says when the gate was; they were
not looked at before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Note", "Question", "read_facts"]


@dataclass(frozen=True, slots=True)
class Note:
    """A document: where it lies, and what it says."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, with the words that its answer has; none where there is no answer."""

    lang: str
    facts: int
    """How many notes have to be joined; 0 where they do not say it, -1 where one would."""
    text: str
    answer: str
    block: int
    """The number of its block, from 0, in its language."""


_LINE = re.compile(r"([a-z]{2}|[-012n]) (.+)")

_FACTS = """
en The Kestrel
- The mapping program Kestrel draws its tiles with the library Pellucid. It runs on old laptops.
- Pellucid was written by Ingrid Solheim during a winter on Spitsbergen. It has no dependencies.
2 who wrote the library that Kestrel uses = Ingrid Solheim
1 what does Kestrel draw its tiles with = Pellucid
1 who wrote Pellucid = Ingrid Solheim
0 which licence has the library that Kestrel uses =
n which licence has Pellucid =
n how many tiles does Kestrel draw =

en Brandal Works
- Brandal Works makes brass instruments. The company was founded by Edvard Lunde in a former bakery.
- Edvard Lunde was born in 1871 in Molde. He learned his trade from an organ builder.
2 in which year was the founder of Brandal Works born = 1871
2 where was the man who founded Brandal Works born = Molde
1 who founded Brandal Works = Edvard Lunde
1 when was Edvard Lunde born = 1871
0 when did the founder of Brandal Works die =
0 whom did the founder of Brandal Works marry =
n when did Edvard Lunde die =

en Ostby Mill
- The founder of Ostby Mill, Karen Tveit, was born in 1902 and stayed there. The mill ground oats.
- Oats were ground in the valley until the railway came. Its station is a library today.
1 in which year was the founder of Ostby Mill born = 1902
1 what did Ostby Mill grind = oats
1 what is the station of the valley today = a library

en The Marrow
- The town of Tessel lies on the river Marrow, two hours below the pass. Its market is on Thursdays.
- The Marrow is 214 kilometres long and freezes every third winter. It ends in a lagoon.
2 how long is the river on which Tessel lies = 214
1 on which river does Tessel lie = Marrow
1 how long is the Marrow = 214
0 how deep is the river on which Tessel lies =
n how deep is the Marrow =

en The Glass Orchard
- The opera The Glass Orchard was composed by Matteo Brizzi in four months. It was booed at first.
- Matteo Brizzi studied counterpoint in Lugano, where he also taught boys to swim.
2 where did the composer of The Glass Orchard study = Lugano
2 what did the composer of the opera The Glass Orchard study in Lugano = counterpoint
1 who composed The Glass Orchard = Matteo Brizzi
1 where did Matteo Brizzi study = Lugano
0 how old was the composer of The Glass Orchard when he died =
n who sang at the first night of The Glass Orchard =

en Veltrite
- The mineral veltrite was first described by Hanne Okoro. It is blue and breaks like glass.
- Hanne Okoro taught at the mining school of Freiberg for thirty years.
2 at which school did the woman who first described veltrite teach = Freiberg
1 who first described veltrite = Hanne Okoro
1 where did Hanne Okoro teach = Freiberg
n what is the hardness of veltrite =

en The Halcyon
- The survey ship Halcyon is commanded by Rosa Varga. It carries a crew of nineteen.
- Rosa Varga's home port is Bristol. She keeps bees.
2 what is the home port of the captain of the Halcyon = Bristol
2 what does the Halcyon's commander keep = bees
1 who commands the Halcyon = Rosa Varga
1 how large is the crew of the Halcyon = nineteen
0 in which year was the captain of the Halcyon born =
n how fast is the Halcyon =

en Sundial
- The payment service Sundial stores its records in a database called Ferrule. It is audited yearly.
- Ferrule is maintained by the Lindqvist Institute. A release comes out each spring.
2 who maintains the database in which Sundial stores its records = Lindqvist Institute
2 when do releases of Sundial's database come out = spring
1 who maintains Ferrule = Lindqvist Institute
1 in which database does Sundial store its records = Ferrule
0 which port does Sundial's database listen on =
n how much does Sundial cost =

en Norrland Cup
- The Norrland Cup of 1988 was won by Tove Hallgren. It rained throughout.
- Tove Hallgren was trained by her aunt, Signe Dahl. She retired at thirty.
2 who trained the winner of the Norrland Cup of 1988 = Signe Dahl
2 at what age did the winner of the 1988 Norrland Cup retire = thirty
1 who won the Norrland Cup of 1988 = Tove Hallgren
1 who trained Tove Hallgren = Signe Dahl
0 where does the trainer of Tove Hallgren live =

de Lernprogramm
- Das Lernprogramm Wortfink benutzt die Bibliothek Silbenwerk. Es kostet nichts.
- Silbenwerk wurde von Dorothea Amsel geschrieben. Die Bibliothek trennt Silben in acht Sprachen.
2 wer hat die Bibliothek geschrieben, die Wortfink benutzt = Dorothea Amsel
1 welche Bibliothek benutzt Wortfink = Silbenwerk
1 wer hat Silbenwerk geschrieben = Dorothea Amsel
0 welche Lizenz hat die Bibliothek, die Wortfink benutzt =
n wann ist Silbenwerk erschienen =

de Uhren
- Die Uhrenfabrik Kranzler wurde von Gottlieb Harms gegründet. Sie baut Taschenuhren.
- Gottlieb Harms wurde 1834 in Husum geboren. Sein Vater war Fischer.
2 in welchem Jahr wurde der Gründer der Uhrenfabrik Kranzler geboren = 1834
2 was war der Vater des Gründers von Kranzler = Fischer
1 wer hat die Uhrenfabrik Kranzler gegründet = Gottlieb Harms
1 wann wurde Gottlieb Harms geboren = 1834
0 wie viele Kinder hatte der Gründer der Uhrenfabrik Kranzler =

de Seilerei
- Der Gründer der Seilerei Bolten, Jens Pauli, wurde 1799 geboren. Die Seilerei brannte zweimal ab.
- Seile wurden damals aus Hanf gedreht, der aus dem Baltikum kam.
1 in welchem Jahr wurde der Gründer der Seilerei Bolten geboren = 1799
1 woraus wurden Seile gedreht = Hanf
n wie viele Arbeiter hatte die Seilerei Bolten =

de Aubach
- Die Stadt Lehenfels liegt an der Aubach. Samstags ist dort Markt.
- Die Aubach ist 87 Kilometer lang. Sie entspringt im Steinwald.
2 wie lang ist der Fluss, an dem Lehenfels liegt = 87
2 wo entspringt der Fluss, an dem die Stadt Lehenfels liegt = Steinwald
1 an welchem Fluss liegt Lehenfels = Aubach
1 wie lang ist die Aubach = 87
n wie tief ist die Aubach =

de Oper
- Die Oper Der stumme Hirte wurde von Anselm Rott komponiert. Sie dauert drei Stunden.
- Anselm Rott studierte in Leipzig Orgel. Er starb verarmt.
2 wo studierte der Komponist der Oper Der stumme Hirte = Leipzig
1 wer komponierte die Oper Der stumme Hirte = Anselm Rott
1 was studierte Anselm Rott = Orgel
0 wann starb der Komponist der Oper Der stumme Hirte =
0 mit wem war der Komponist der Oper Der stumme Hirte verheiratet =

es Programa
- El programa de mapas Cernícalo utiliza la biblioteca Teselas. Es gratuito.
- Teselas fue escrita por Beatriz Olmedo en Salamanca. No tiene dependencias.
2 quién escribió la biblioteca que utiliza Cernícalo = Beatriz Olmedo
1 qué biblioteca utiliza Cernícalo = Teselas
1 quién escribió Teselas = Beatriz Olmedo
0 qué licencia tiene la biblioteca que utiliza Cernícalo =

es Relojes
- La fábrica de relojes Montalvo fue fundada por Ramiro Quiroga. Hoy es un museo.
- Ramiro Quiroga nació en 1848 en Lugo. Su padre era herrero.
2 en qué año nació el fundador de la fábrica de relojes Montalvo = 1848
2 dónde nació el fundador de Montalvo = Lugo
1 quién fundó la fábrica de relojes Montalvo = Ramiro Quiroga
1 cuándo nació Ramiro Quiroga = 1848
n cuándo murió Ramiro Quiroga =

es Molino
- El fundador del molino de Arcilla, Tomás Vélez, nació en 1790. El molino molía trigo.
- El trigo llegaba en barcas por el canal hasta que se secó.
1 en qué año nació el fundador del molino de Arcilla = 1790
1 qué molía el molino de Arcilla = trigo

es Río
- La ciudad de Peñalba está a orillas del río Sotuela. Los jueves hay mercado.
- El Sotuela mide 163 kilómetros y desemboca en una laguna.
2 cuánto mide el río en cuya orilla está Peñalba = 163
2 dónde desemboca el río de la ciudad de Peñalba = laguna
1 a orillas de qué río está Peñalba = Sotuela
1 cuántos kilómetros mide el Sotuela = 163
0 qué profundidad tiene el río de la ciudad de Peñalba =
n cuántos habitantes tiene Peñalba =

es Ópera
- La ópera El pastor mudo fue compuesta por Inés Barreda en cuatro meses.
- Inés Barreda estudió en Valencia, donde también daba clases de natación.
2 dónde estudió la compositora de la ópera El pastor mudo = Valencia
1 quién compuso El pastor mudo = Inés Barreda
1 dónde estudió Inés Barreda = Valencia
0 cuándo murió la compositora de la ópera El pastor mudo =

fr Logiciel
- Le logiciel de cartes Crécerelle utilise la bibliothèque Mosaïne. Il est gratuit.
- Mosaïne a été écrite par Odile Ferrand à Brest. Elle n'a pas de dépendances.
2 qui a écrit la bibliothèque que Crécerelle utilise = Odile Ferrand
1 quelle bibliothèque Crécerelle utilise = Mosaïne
1 qui a écrit Mosaïne = Odile Ferrand
0 quelle licence a la bibliothèque que Crécerelle utilise =

fr Horloges
- La fabrique d'horloges Valmont a été fondée par Lucien Tardieu. C'est un musée aujourd'hui.
- Lucien Tardieu est né en 1852 à Dole. Son père était forgeron.
2 en quelle année est né le fondateur de la fabrique d'horloges Valmont = 1852
2 où est né le fondateur de Valmont = Dole
1 qui a fondé la fabrique d'horloges Valmont = Lucien Tardieu
1 quand est né Lucien Tardieu = 1852
n quand est mort Lucien Tardieu =

fr Moulin
- Le fondateur du moulin d'Arcy, Paul Reverchon, est né en 1788. Le moulin broyait de l'avoine.
- L'avoine arrivait par le canal, qui a été comblé depuis.
1 en quelle année est né le fondateur du moulin d'Arcy = 1788
1 que broyait le moulin d'Arcy = avoine

fr Rivière
- La ville de Brévans se trouve au bord de la Loireuse. Le marché a lieu le jeudi.
- La Loireuse fait 141 kilomètres et se jette dans un étang.
2 combien de kilomètres fait la rivière au bord de laquelle se trouve Brévans = 141
1 au bord de quelle rivière se trouve Brévans = Loireuse
1 combien de kilomètres fait la Loireuse = 141
0 quelle est la profondeur de la rivière au bord de laquelle se trouve Brévans =
n combien d'habitants a Brévans =

fr Opéra
- L'opéra Le Berger muet a été composé par Estelle Marchal en quatre mois.
- Estelle Marchal a étudié à Genève, où elle enseignait aussi la natation.
2 où a étudié la compositrice de l'opéra Le Berger muet = Genève
1 qui a composé Le Berger muet = Estelle Marchal
1 où a étudié Estelle Marchal = Genève
0 quand est morte la compositrice de l'opéra Le Berger muet =

ja 地図
- 地図アプリのハヤブサは、ライブラリ「タイル堂」を使っている。無料である。
- タイル堂は、佐伯美緒が冬の間に書いた。依存関係はない。
2 ハヤブサが使っているライブラリを書いたのは誰ですか = 佐伯美緒
1 ハヤブサはどのライブラリを使っていますか = タイル堂
1 タイル堂を書いたのは誰ですか = 佐伯美緒
0 ハヤブサが使っているライブラリのライセンスは何ですか =
n 佐伯美緒は何年に生まれましたか =

ja 時計
- 時計工場の松風社は、桐山源三によって設立された。現在は博物館である。
- 桐山源三は1848年に長浜で生まれた。父は鍛冶屋だった。
2 松風社の設立者は何年に生まれましたか = 1848
2 松風社の設立者はどこで生まれましたか = 長浜
1 松風社を設立したのは誰ですか = 桐山源三
1 桐山源三は何年に生まれましたか = 1848
0 松風社の設立者はいつ亡くなりましたか =

ja 川
- 北条町は蓮見川のほとりにある。木曜日には市が立つ。
- 蓮見川の長さは163キロメートルで、湖に注ぐ。
2 北条町のほとりを流れる川の長さは何キロですか = 163
1 北条町はどの川のほとりにありますか = 蓮見川
1 蓮見川の長さは何キロですか = 163
n 北条町の人口は何人ですか =

ja 歌劇
- 歌劇「黙した羊飼い」は、土屋早苗が四か月で作曲した。
- 土屋早苗は京都で学び、水泳も教えていた。
2 歌劇「黙した羊飼い」の作曲者はどこで学びましたか = 京都
1 歌劇「黙した羊飼い」を作曲したのは誰ですか = 土屋早苗
1 土屋早苗はどこで学びましたか = 京都

zh 地图
- 地图软件红隼使用名为瓦片堂的程序库。它是免费的。
- 瓦片堂由陈立文在一个冬天里编写，没有任何依赖。
2 红隼使用的程序库是谁编写的？ = 陈立文
1 红隼使用什么程序库？ = 瓦片堂
1 瓦片堂是谁编写的？ = 陈立文
0 红隼使用的程序库采用什么许可证？ =
n 陈立文是哪一年出生的？ =

zh 钟表
- 钟表厂松风社由周启明创立，如今是一座博物馆。
- 周启明1848年出生于长浜，他的父亲是铁匠。
2 松风社的创立者是哪一年出生的？ = 1848
2 松风社的创立者出生于哪里？ = 长浜
1 松风社是谁创立的？ = 周启明
1 周启明是哪一年出生的？ = 1848
0 松风社的创立者是哪一年去世的？ =

zh 河流
- 北条镇位于莲溪河畔，每周四有集市。
- 莲溪河全长163公里，流入一个湖。
2 北条镇旁边的河流全长多少公里？ = 163
1 北条镇位于哪条河畔？ = 莲溪河
1 莲溪河全长多少公里？ = 163
n 北条镇有多少人口？ =

zh 歌剧
- 歌剧《沉默的牧人》由林晚晴在四个月内谱写。
- 林晚晴曾在昆明学习，也教人游泳。
2 歌剧《沉默的牧人》的作曲者曾在哪里学习？ = 昆明
1 歌剧《沉默的牧人》是谁谱写的？ = 林晚晴
1 林晚晴曾在哪里学习？ = 昆明

en Marlowe
- The lighthouse at Skarn Point was designed by the engineer Piers Rowntree. It has 180 steps.
- Piers Rowntree lived on the island of Vaila until a storm took his boat.
2 on which island did the engineer live who designed the lighthouse at Skarn Point = Vaila
2 where did the designer of the lighthouse at Skarn Point live = Vaila
1 who designed the lighthouse at Skarn Point = Piers Rowntree
n how high is the lighthouse at Skarn Point =
0 how old was the designer of the lighthouse at Skarn Point =

en Tern
- The scheduler of the cluster Tern is written in the language Oberlin.
- Oberlin was designed at the university of Uppsala. Its compiler is small.
2 at which university was the language designed that Tern's scheduler is written in = Uppsala
2 where was the language in which Tern's scheduler is written designed = Uppsala
1 in which language is Tern's scheduler written = Oberlin
n who designed Oberlin =

en Fennick
- The novel Salt Months was translated into English by Jonas Fennick.
- Jonas Fennick died in 1967 after a fall from a tram.
2 when did the translator of Salt Months die = 1967
2 how did the man who translated Salt Months into English die = tram
1 who translated Salt Months into English = Jonas Fennick
n when was Salt Months published =
0 which languages did the translator of Salt Months speak =

en Quill
- Our invoices are checked by the tool Quillon, which runs at night.
- Ask Perla Nyström about Quillon: she looks after it.
2 who looks after the tool that checks our invoices = Perla Nyström
2 whom do I ask about the tool by which our invoices are checked = Perla Nyström
1 which tool checks our invoices = Quillon
n what does Quillon cost per month =

de Brücke
- Die Brücke von Sandau wurde von der Ingenieurin Hedwig Tolle entworfen.
- Hedwig Tolle starb 1921 in Stettin.
2 wann starb die Ingenieurin, die die Brücke von Sandau entworfen hat = 1921
2 wo ist die Frau gestorben, die die Brücke von Sandau entwarf = Stettin
1 wer entwarf die Brücke von Sandau = Hedwig Tolle
n wie lang ist die Brücke von Sandau =
0 welche Brücke hat die Frau noch gebaut, die die Brücke von Sandau entwarf =

es Novela
- La novela Meses de sal fue traducida por Julián Ocaña.
- Julián Ocaña murió en 1967 en Toledo.
2 cuándo murió el traductor de la novela Meses de sal = 1967
2 en qué ciudad murió el hombre que tradujo Meses de sal = Toledo
1 quién tradujo la novela Meses de sal = Julián Ocaña
n quién escribió la novela Meses de sal =
0 cuántos idiomas hablaba el traductor de la novela Meses de sal =

fr Roman
- Le roman Mois de sel a été traduit par Julien Aubray.
- Julien Aubray est mort en 1967 à Vannes.
2 quand est mort le traducteur du roman Mois de sel = 1967
2 dans quelle ville l'homme qui a traduit Mois de sel est-il mort = Vannes
1 qui a traduit Mois de sel = Julien Aubray
n qui a écrit le roman Mois de sel =
0 quel âge avait le traducteur du roman Mois de sel =

ja 小説
- 小説「塩の月」は、村瀬涼子が英語に翻訳した。
- 村瀬涼子は1967年に金沢で亡くなった。
2 小説「塩の月」を翻訳した人はいつ亡くなりましたか = 1967
2 「塩の月」の翻訳者が亡くなったのはどこですか = 金沢
1 小説「塩の月」を翻訳したのは誰ですか = 村瀬涼子
n 小説「塩の月」を書いたのは誰ですか =
0 小説「塩の月」を翻訳した人の出身地はどこですか =

zh 小说
- 小说《盐月》由何静怡翻译成英文。
- 何静怡1967年在大理去世。
2 《盐月》的译者是哪一年去世的？ = 1967
2 翻译《盐月》的人在哪里去世？ = 大理
1 《盐月》是谁翻译的？ = 何静怡
n 《盐月》的作者是谁？ =
0 《盐月》的译者有几个孩子？ =
"""


def read_facts() -> tuple[list[Note], list[Question]]:
    """Return all notes and all questions, in order."""
    notes: list[Note] = []
    questions: list[Question] = []
    counts: dict[str, int] = {}
    for block in _FACTS.strip().split("\n\n"):
        (lang, title), *lines = _lines(block)
        number = counts[lang] = counts.get(lang, -1) + 1
        for kind, said in lines:
            if kind == "-":
                path = f"{lang}/{len(notes):02}.md"
                notes.append(Note(path, f"# {title}\n\n{said}\n" if number % 2 else f"{said}\n"))
            else:
                text, _, answer = said.partition(" =")
                facts = -1 if kind == "n" else int(kind)
                questions.append(Question(lang, facts, text, answer.strip(), number))
    return notes, questions


def _lines(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"no fact: {line!r}")
        yield found.group(1), found.group(2)
