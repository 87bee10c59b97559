"""Words of other scripts that no passage holds, as they may be spelled in Latin letters.

Names and loanwords cross between languages: *パラメータ* is *parameter*, *Мелани* is *Melanie*.
Sounds have several spellings, so a word has many here, the likelier ones first; which of them
an index holds is looked up, as for typing errors (``spelling``), and nothing else is read so.
The tables are those of common romanizations (Hepburn, Revised Romanization, ISO 9, ELOT 743),
and of how the same sounds are spelled in English.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

__all__ = ["crossing_words", "spellings"]

_MOST = 500
"""Spellings of a word that are looked up: one or two milliseconds, and up to twenty to make."""
_LEAST_LETTERS = 4
"""Of a spelling; shorter ones are found by accident."""

_MOST_LETTERS = 24
"""Of a word: what is longer is no name, and takes the square of its length."""

_FIRST_SYLLABLE = 0xAC00
_KATAKANA = re.compile("[ァ-ヴー]{3,}")
_HANGUL = re.compile("[가-힣]{2,}")
_PARTICLE = re.compile(
    "(?<=[가-힣]{2})(?:에서|으로|에게|까지|부터|은|는|이|가|을|를|의|에|로|와|과|도|만)$"
)
_ALPHABETIC = re.compile(r"(?<![^\W_])[\u0370-\u03ff\u0400-\u04ff]{4,}(?![^\W_])")


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Read entries such as ``ka=ka,ca``; a dash is no letter."""
    pairs = (entry.split("=") for entry in text.split())
    return {sound: tuple(s.replace("-", "") for s in shown.split(",")) for sound, shown in pairs}


def _row(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_KANA = _table(
    "ア=a,u,e イ=i,y,e ウ=u,w,o エ=e,a オ=o,au カ=ca,ka,cu,co キ=ki,ke,chi,key "
    "ク=c,k,cu,ku,coo,g,que ケ=ca,ke,ka コ=co,ko,cho サ=sa,su,tha "
    "シ=si,shi,ci,sy ス=s,se,su,th,ce,ss セ=se,ce,the ソ=so,tho "
    "タ=ta,ter,tor,tu チ=chi,ti,ch ツ=ts,tsu,t,tu テ=te,ta ト=t,to,te "
    "ナ=na,ner,nu ニ=ni,ny,ne ヌ=nu,n ネ=ne,na ノ=no ハ=ha,hu,her "
    "ヒ=hi,he フ=f,fu,hu,ph,ff ヘ=he,hea,ha ホ=ho,whi マ=ma,mer,mu "
    "ミ=mi,my,me ム=m,mu,me メ=me,ma モ=mo ヤ=ya,ia ユ=yu,u ヨ=yo,io "
    "ラ=ra,la,ler,lu リ=ri,li,re,ry,ly ル=l,r,le,ll,ru,lu レ=re,le,ra,la "
    "ロ=ro,lo ワ=wa,wor,o ヲ=o ン=n,m ガ=ga,ger,gu ギ=gi,gy グ=g,gu,gue "
    "ゲ=ge,ga ゴ=go ザ=za,ser,the,sa ジ=ji,gi,ge,si,zi,dge ズ=s,z,zu,ze "
    "ゼ=ze,the,se ゾ=zo,so ダ=da,der,du ヂ=ji,di ヅ=zu デ=de,da ド=d,do,de "
    "バ=ba,va,ver,ber,bu ビ=bi,vi,be,vie ブ=b,v,bu,ve,vu ベ=be,ve,ba "
    "ボ=bo,vo パ=pa,per,pu ピ=pi,pe,py プ=p,pu,pe ペ=pe,pa ポ=po ヴ=v,vu,ve "
    "キャ=ca,kya キュ=cu,kyu,cue キョ=kyo シャ=sha シュ=shu,su,sh ショ=sho "
    "シェ=she,cha チャ=cha チュ=chu,tu チョ=cho チェ=che ジャ=ja,jer ジュ=ju,du ジョ=jo "
    "ジェ=je,ge ニュ=new,nu リュ=ru,lu ミュ=mu ピュ=pu,pew ヒュ=hu ファ=fa,fi,pha "
    "フィ=fi,phi フェ=fe,phe フォ=fo,pho ティ=ti,ty,tea ディ=di,dy,de "
    "トゥ=to,tu,two ドゥ=do,du デュ=du ウィ=wi,we ウェ=we ウォ=wa,wo ヴァ=va,ver "
    "ヴィ=vi ヴェ=ve ヴォ=vo クォ=quo クエ=que クイ=qui アイ=i,ai ファイ=fi マイ=mi,my "
    "ライ=li,ri タイ=ti,ty ワイ=wi,wy サイ=si,sci バイ=by,bi,vi ナイ=ni,nigh "
    "ハイ=hi,high ション=tion,sion,shon ジョン=sion,john チャン=chan ング=ng ックス=x "
    "ック=ck,c,k サー=ser,sir,sur ター=ter,tor,tar ダー=der,dar バー=ver,ber,bar "
    "パー=per,par ザー=ser,zer ガー=ger,gar カー=car,ker,cur マー=mer,mar "
    "ラー=ror,ler,rer,lar ナー=ner,nar ファー=fer,far ワー=wor,war,wer "
    "シー=see,cy,sea ルー=rou,ru,lu,roo,loo ニー=ny,nie キー=key,kie,ky ドル=dle,dol "
    "ウェア=ware,wear リー=ly,ry,ree,lee,rie,ri ジオ=dio,geo コー=co,cor,cour,coa "
    "ボー=bo,bor,boa ボード=board,bord ッタ=tta,tter,ta ッチ=tch,tchi ッテ=tte,te ット=t,tt,te "
    "ッド=d,dd ップ=p,pp ッ=- ー=-,r,e"
)
_INITIALS = _row("g kk n d tt r m b pp s ss - j jj ch k t p h")
_VOWELS = _row("a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i")
_FINALS = _row("- g kk gs n nj nh d l lg lm lb ls lt lp lh m b bs s ss ng j ch k t p h")
"""The letters of a Hangul syllable in the order of Unicode, by their Revised Romanization."""
_JAMO_INITIAL = _table(
    "g=g,k kk=c,k n=n d=d tt=t r=r,l m=m b=b,v pp=p s=s,sh,th ss=s -=- j=j,z,g,s jj=j ch=ch,t "
    "k=c,k,qu t=t p=p,f,ph h=h,f,wh"
)
_JAMO_VOWEL = _table(
    "a=a,o,u ae=a,e ya=ya,ia yae=ya eo=er,o,u,eo,a,or e=e,a yeo=yo,io ye=ye o=o,au wa=wa wae=we "
    "oe=oe,we yo=yo u=u,oo,o,ou wo=wo,ue,wa we=we wi=wi,qui yu=u,you,yu,ew eu=-,e,u ui=ui "
    "i=i,y,e,ee,ie,ea"
)
_JAMO_FINAL = _table(
    "-=- g=c,k,g,ck n=n d=d l=l,r,ll m=m b=p,b s=t,s,th,te ss=s ng=ng,n j=j ch=ch k=k,c t=t "
    "p=p,f h=h"
)
_LETTERS = _table(
    "а=a б=b в=v,w г=g,h д=d е=e,ye ё=e,yo,io ж=zh,j,g з=z,s и=i,y,ee й=y,i,- к=k,c л=l,ll м=m "
    "н=n,nn о=o п=p р=r с=s,c,ss т=t у=u,ou,oo ф=f,ph,th х=h,kh,ch,x ц=ts,c,z ч=ch,tch ш=sh,ch "
    "щ=sch,shch ъ=- ы=y,i ь=- э=e ю=yu,u,iu я=ya,ia,a і=i,y ї=yi,i є=ye,e ґ=g кс=x,ks "
    "дж=j,dzh,g α=a β=v,b γ=g,y δ=d,th ε=e ζ=z η=i,e θ=th ι=i κ=k,c λ=l μ=m ν=n ξ=x ο=o π=p "
    "ρ=r,rh σ=s ς=s τ=t υ=y,i,u φ=f,ph χ=ch,h,x ψ=ps ω=o ου=u,ou αι=ai,e ει=ei,i οι=oi,i "
    "αυ=au,av ευ=eu,ev μπ=b,mp ντ=d,nt γκ=g,nk τζ=j,tz"
)


def crossing_words(text: str) -> Iterator[str]:
    """Yield the words of *text* that may be names or loanwords in letters of another script."""
    for pattern in (_KATAKANA, _HANGUL, _ALPHABETIC):
        words = dict.fromkeys(pattern.findall(text))
        yield from (word for word in words if len(word) <= _MOST_LETTERS)


@lru_cache(maxsize=64)
def spellings(word: str) -> tuple[str, ...]:
    """Return how *word* may be spelled in Latin letters, the likelier first."""
    found: dict[str, None] = {}
    for form in dict.fromkeys((word, _PARTICLE.sub("", word))):
        if _HANGUL.fullmatch(form):
            sounds = list(_of_hangul(form))
        elif _KATAKANA.fullmatch(form):
            sounds = _of_table(form, _KANA)
        else:
            plain = unicodedata.normalize("NFD", form.casefold().replace("й", "\0"))
            sounds = _of_table(re.sub("[\u0300-\u036f]", "", plain).replace("\0", "й"), _LETTERS)
        found |= dict.fromkeys(_likeliest(sounds))
    return tuple(spelled for spelled in found if len(spelled) >= _LEAST_LETTERS)


def _of_hangul(word: str) -> Iterator[tuple[str, ...]]:
    for syllable in word:
        rest, final = divmod(ord(syllable) - _FIRST_SYLLABLE, len(_FINALS))
        initial, vowel = divmod(rest, len(_VOWELS))
        yield _JAMO_INITIAL[_INITIALS[initial]]
        yield _JAMO_VOWEL[_VOWELS[vowel]]
        yield _JAMO_FINAL.get(_FINALS[final], ("",))


def _of_table(word: str, table: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Cut *word* into the longest sounds of *table*; what it does not know is left out."""
    sounds, at = [], 0
    while at < len(word):
        size = next((n for n in (3, 2, 1) if word[at : at + n] in table), 0)
        if size:
            sounds.append(table[word[at : at + size]])
        at += size or 1
    return sounds


def _likeliest(sounds: list[tuple[str, ...]]) -> list[str]:
    """Return the spellings whose sounds have the likeliest letters, by the sum of their places."""
    beam = [(0, "")]
    for shown in sounds:
        longer = ((cost + place, text + s) for cost, text in beam for place, s in enumerate(shown))
        beam = heapq.nsmallest(_MOST, longer)
    return [text for _, text in beam]
