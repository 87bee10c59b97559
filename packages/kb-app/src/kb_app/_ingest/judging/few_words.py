"""Which encoding a few words are in, where statistics of a language would need more of them.

Each encoding is tried, and what it gives is weighed: how many nats it takes to say that in the
language that the encoding is for, whose characters are known in the order of their use. The
cheapest reading wins. One that is dear for what it says is none: the text is in a language that
is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from kb_core.values import lazy_pattern

__all__ = ["LATIN", "likeliest"]

LATIN = "cp1252"
_MOST_BYTES = 1_000
"""Up to so many bytes that are not ASCII, words are few."""
_NEAR = lazy_pattern(rb"[\x00-\x7f]?(?:[\x80-\xff]+[\x00-\x7f]?)+")
"""What is not ASCII, and what stands beside it; the rest costs the same in every reading."""
_ASCII, _SYMBOL, _RARE = 3.5, 7.0, 10.0
_CAPITAL, _CAPITAL_WITHIN, _MIXED, _ACCENTS = 1.5, 6.5, 3.0, 4.0
_UNLIKELY, _UNLIKELIER = 3.0, 5.5
"""What another encoding than that of the West costs beforehand."""
_DEAR = 4.3
"""For each byte of what is not ASCII."""
_SYMBOLS = frozenset("«»“”‘’„‚–—…•€§°№、。「」・，！？：；（）《》～〜\xa0¿¡")

# The order of use is that in encyclopedias and in messages of programs.
_HANGUL = (
    "이다에을는의지니하로가를수시서기한사일자정스고은인대리습으없어용아트해파도음있그위부합할전제"
    "상나보라했만들오과문터되드여적장않치주명년었중소모션성원면경국작실와표데동조프선비게함세된행"
    "구크입개력미화식우유바당름내공거마형단요설버연값업패며키계옵러월무재신디출진것야방타호록안후"
    "본영간법번레열태반였체령현관목결임발분회메블못변포때환통민최려류르테브등추료두역또코잘건필았"
    "속각복히더군생교노래렉알산른너학운초권종받처항차황천매카확색저커토베직던페능격예절배강불준참"
    "읽루외증활새금집까청김남접줄언검심같백약말십범근올든택양판럼린따규점병티물랜석감플향독쓰쪽져"
    "퍼달창평투템림끝피째편총클텍링축널특졌글런칼램쇼별박돌울뒤살찾급덱책순막존난립론룹길밋께허네"
    "및많승탄완젯날북맞케됨렬질람삼워압움숫란볼송삭릴턴암즈악콘캐딩견광픽쓸슬침충될꾸헤련손밀젝취"
    "쟁채술애폴뉴폭온누닙측족앞잭징롤칙머첫밝났랑붙컨큰벌논컬락높닌찰빠됐잠릭쇄량철렸켓왕담탈엔됩"
    "망싱봉틀응뷰혹극협억획희먼롯품듈쿼셀육잡넘폐친헌빌갈효긴웨느왔앨죽골쿠쳐략빈례델율곡혼셸험객"
    "죄슈씨겨꿀겠왼몬귀녀냅닫득찬꼴홈셋혔숙럽즉갑님벗듭답률얻걸냈갔층늘넣섬럭몇써콜액몰탭놓렇튜윈"
    "팀짜춤핑끌엄뜻홍얼혁궁착칭혀맡뢰떤퇴묶핀휘좌므낼엘앙푸뿐낸갖뮤칠멤꿈훈윤퀀균슨컴덤납좋깁뜀덮"
    "떠곳익팅킹큼맨탐롭둘맥벤벨짐츠팔힌웠괴켰씁뷔갤옮탑캘풀숨팬켜옥셜센뀌깃킨릿넷깨랐쳤틴욱흥룰덴"
    "폰솔념짓렀욕랙풍칸녹렌옹덕맹척핸톱롬뉘옴짧옛즌냐닉촉깊괄끊휴멀낮갯멈팝힘빼밖탕듬웃꿉섭섹싸텐"
    "겼춘릅둔농곧킬혜컵묘쉬떨랩딸엑샤돈혐텔횟밴흑빅홀돼쿄졸핵짝랫눈끼줌슷끄랍큽먹뛰밍뽑깅겟묵염섰"
    "륨콩줍톤룩맵밑킷넓탬몽떻눌쓴젠믿싶앤빨썬잃폼씩벽큐밤빛털뜨융흔웁셰흐뤄퓨즘듯떼잔륙뇌멜굴럴썼"
    "펴랭찍캔촬혈놀쉼웹갱룡잉꺼겹엣맷곽캠쉽톡곤닥뀐콤렵왜빙쉘흘낙낭몸끔엽냄첩팩뮬닝펜멘힐덜묻냥멸"
    "탁핫킴헝맺춰룬엇셔쌍꾼붕쥐뜁윗옆꿔튼"
)
_KANA = (
    "のにーるではしをがすたいンまてとなルれトスイりさあせんクラかッリこらきフシもアタっプドデうよ"
    "テジオロくョィァレグめブバコけサどメキマパつエセカムそみやポおウわえダだベェケばュガモチソャ"
    "ボザネズニビへナォじびユペハミずゴツワちべピギほヘぎむヨノホげヴゲろぶづごヤヒゼゆヌねぼひぞ"
    "ょぐざゾゥふゅヶぜぬぽ゚ぱぁヵゃぺヂ"
)
_KANJI = (
    "定用数行名合使表年力国一中日文指党出示要不設本成時字大生効動入的無共列前作変実対場関間在正値"
    "内部書語上失最化明同有必置方産子式発取込除敗会可存地後人者更新現認終法能以分制期型外開主選理"
    "号長自建月読引義位見民再検全員続性下目報体代削築家形了業番配多証持機学当所付得告事鍵物接情権"
    "記立保空政連通応約基際第加限警索度問和画照含換結複命受解雨区準参起小回信議切計利活択水始先別"
    "高素構平送世標印初求算言点進公呼域組状油規意識向単特集張視条確梅常線態社囲止重戦次追気量他属"
    "処致非石決元挙演完項道来例東北刷返圧範務個覧経各果委署都割論界移支予適労音補類反説原領海働落"
    "種団市由色二想住手異格教県治等拡像放強側府令近源容統件管題島面改許様与工整直相境順独質幅職資"
    "安違端争半知縮降査録済軍提響造古装天品称製派候述細王係象炭南交金調万影流電展施少暗未紀術維待"
    "協総考左判右環路詳両土供楽断破西比任系復革備導諸感末互離停推過山織央並頭川運打既院価継否試白"
    "帰足辞操及序技族味料承田身扱育居登依替略修般秒心低周超州野庫訳験壊描車採増仮優消注省親勢憲染"
    "伝密隔三曲転輸座真港版残器占御従達層席留収翻広符英旧介局測戻科隊口程差何遅刻闘太積歴析億去挿"
    "今固誤率退景探難農武延拒尾精較然速釈帝企君京監短観専帯競察営町句費案宣紙背批朝籍納棄首酸史担"
    "併熱歳衛植策答副士段編余欧則禁洋律渡功援負女衆押暦図廃護因評秘円寄毎盟獲害十倍助閉病核校埋矢"
    "門突障仕乗話辺浮票米伴深街役減模階垂陸税塩紹均絶歌宮皇昇防林清拠満極損微詰球師宗兵着繰究望被"
    "避温神台賞為逆河千彼鉄食官討思衝況頃死易隠母良封材拍航撃給習研売盤聞裁侵針昭傾節布隣混似根投"
    "急著赤筒春秋激級財沿貨幹越夏具乱普豊創客岸声該却渉木雑遣危早到排途疑江郎福岡綱志刊芸責徳礎念"
    "欠須栄厳飾聖守青永庁鉱鎖薦軌概飛滅鮮奏曜殊週旬戸徴魚司村閣頼黙審献捕載伸婚菌唱掘卵園擁湾偽商"
    "星悪己写巻角添症五男揮養勝邦四荷群奨"
)
_SIMPLIFIED = (
    "的在用不为一是中件有文数无法年个时出名于和行大以字定国可使到了式作标对后分符选表要成目能上人"
    "本部被入或项地置设会列新将位间发效进生输子示过区加前已多录建包制动类指据程下与来学未存这长主"
    "其并开号器称所错月接取内之最他公现理参任型日格小同度自信重如组第系正当提语由方务值没打合命此"
    "模而误关支斯及引显除从尔更失认者代序机至经令统应西量果配期路持体家息空里次该户性则面图得败但"
    "通密外高改变特工需等码员它化物记版服查库亚结交义全因单创安处也立证解约色达索写种线签南节运只"
    "必复印元状利们克转赛换非读事基计德条象道口许否平请键市始点两比获常您编球相三含都世美政向须回"
    "保米形属操海明别视意英队拉起教态软知告级删二段书移电台默原场共连联超找展北权启头钥东执军问院"
    "天直力档少每准布首水些题集马略限然实总兰山业调战罗十议函源像民止规容块司备串带管太消科检整完"
    "警校退识径王导装排受算士载尼确界金归给何域允具州供四广还阿试求束修巴端匹委放就志注省先范按即"
    "素助音页收构产资城围维流心卡说车活传决近洲样影纪环边且终缺手身林忽角治港链反析华女择例括初花"
    "宽欧剧验品功播根致见冲址龙府较死缩游强留叶压窗增职续网香足群返片份古河离清仅述协纳那领族越扩"
    "随缓闭替历演言情光波母细距预济报居速响县描史远控隔去询送断树湾江专曾禁真伊辑塞药右风著继我际"
    "推律白击访添画质触再六商塔锁门佛她译临层升盟万境划局才盖副室曲术话社博另仓占威岛诺医黄突很左"
    "好论跳着低气毛举武快谷乐率普丁石百停旧跟朝句附造又老藏皇馆做异词吉颜周射派今菜独京坏神育频补"
    "师牙张官框奥切搜短爱尾测仍食各绝铁登把泰五齐释望宗蒙希帝映策哈往护景观父早照圣洛考康氏缀筑植"
    "盘研土儿偏适班弃夫酸川储销哥草想若声监易秒陆伦似况森客曼亲覆依病争木看积帮福假究几待步伯兼冠"
    "青互亦雷落封座损钮深插苏卫候歌席络杀黑站顶私丽田艺九干红耶双恢党湖踪精享优投某尽底恩套七飞侧"
    "够尚册板航男氧故栏半便团延拥费均简聚"
)
_TRADITIONAL = (
    "的用在不有檔是一中無定法案式年名使出字目數以選位大示時行個指入和設要列為作取可元項件到標分了"
    "本或新輸成能表生效上人已于錯稱者被資存未前程建提格合號所顯除文子下誤如部重理引立動加多度正地"
    "區物之錄於其值第方訊至將工組自符更最小得此主型結支令模開置他月由后同包失代版語沒公任路對及料"
    "而果間否日空後期交鍵過系預印器金碼次變斯面制解敗相會等需性啟來与執內發類機記西特寫請應參家色"
    "讀這非單移但鑰高明外態只全安視通端服因體您回始基接原編連化狀則從串命也里圖改平含序告進套利向"
    "換證它修并略影比南援完找容常整德像徑都關並庫每警三拉按密克知信統保直美息頭市形源裝刪少處世準"
    "球水簽种英二米道線當体量政索起該群塊海意與具窗排封教傳必別停配供放束些何查共段天机籤止事北複"
    "域限增力規台太然十院清載算忽首長管受點先轉求義製布擇現份寬欄山址併頁民縮條檢音司功素即快身尼"
    "展伺游界科確士控就流四王白範集留題超阿許尋州反片巴析例卡暫須做遠心試右委持章近級驗屬樣邊消情"
    "境收隔尾且校憑述底經母軟城權林允景鈕演括圍衝治左著洲替追附送打致計備缺手品譯助根描省離識初港"
    "函花女顏播給註好網真府足壓我說切產才儲閉史香搜突塔依波古河若去角族口憶尚把實活据推盤再覆兩補"
    "伊蹤副那速律登棄曾短六核照言越映終塞距輯鎖江居想商考你跳偏另牙翻調低垂造佛她派尺曲繪盟操很室"
    "似光強升透威率損万博匯斷社藏秒問早死異落毛決武仍延假般谷气話亞石廢普退叫百周員朝又皇僅務差老"
    "今神舊吉署綴較箭五京育官介還蒙射洛某遞蓋占深亦食注測捲各哥齊夫康宗環泰背往步帝土壞觸響班易离"
    "充側植撤報掛网望氏協樹嘗圣筑呼授互研准父隱草星達酸川細寸构复儿私伯幕續碟割待森曼運木病絕福雷"
    "焦捷究緩青座候看八詳黑精零冠擴們覽彩歌局截際旗希便拒滑席鼠框填投跟繼住額田永半九党耶湖己見航"
    "宣七富象恩節几划技末適裡冊銷站男氧種哈疊干街隨導構均埃享防媒簡斜策季疫佐盒故夾姆架沙柱板硬汗"
    "迴畫堂甲帶免批奇客疏電階訂丁志破堆濾"
)
_LETTERS = {
    "cyrillic": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґў",
    "greek": "αοιετνσηρπκμλυςάίόήέδθγχωφύώβξζψϊ",
    "hebrew": "יוהלאמרתבשנדעקחפכםטגצןזסךףץ",
    "arabic": "اليمنرتبةعدسفهوكحقأجشطصخذىثزضءغئؤإآظ",
    "accented": "éäöüàáèíóßñçêåøæúôâîûëïœòãõìù",
}


class _Reading(NamedTuple):
    encoding: str
    costs: Mapping[str, float]
    """Of each usual character, in lower case."""
    beforehand: float = _UNLIKELY
    letters: str = ""
    """Of an alphabet of its own, ``foreign``; of one that adds to that of ASCII, ``accented``."""


def _by_use(characters: str, first: float, level: int) -> Mapping[str, float]:
    """Return the costs of *characters*; *level* is how many of them are used about as often."""
    return {each: first + math.log(1 + rank / level) for rank, each in enumerate(characters)}


def _alphabet(encoding: str, name: str, beforehand: float = _UNLIKELY) -> _Reading:
    return _Reading(encoding, _by_use(_LETTERS[name], 2.4, 4), beforehand, "foreign")


_HAN = (5.0, 30)
_JAPANESE = {**_by_use(_KANJI, *_HAN), **_by_use(_KANA, 4.0, 20)}
_READINGS = (
    _Reading(LATIN, _by_use(_LETTERS["accented"], 3.3, 5), 0.0, "accented"),
    _alphabet("cp1251", "cyrillic"),
    _alphabet("koi8_r", "cyrillic"),
    _Reading("cp949", _by_use(_HANGUL, *_HAN)),
    _Reading("gb18030", _by_use(_SIMPLIFIED, *_HAN)),
    _Reading("big5", _by_use(_TRADITIONAL, *_HAN)),
    _Reading("cp932", _JAPANESE),
    _Reading("euc_jp", _JAPANESE),
    _alphabet("cp1253", "greek"),
    _alphabet("cp1255", "hebrew"),
    _alphabet("cp1256", "arabic"),
    _alphabet("cp866", "cyrillic", _UNLIKELIER),
    _alphabet("iso8859_5", "cyrillic", _UNLIKELIER),
    _alphabet("mac_cyrillic", "cyrillic", _UNLIKELIER),
    _alphabet("cp855", "cyrillic", _UNLIKELIER),
)  # the likelier of two equals comes first


def likeliest(sample: bytes) -> str | None:
    """Return the encoding of a few words; ``None`` of more, or where no reading makes sense.

    ``LATIN`` says that it is that or a relative of it.
    """
    near = b"\n".join(_NEAR.findall(sample))
    if sum(byte > 127 for byte in near) > _MOST_BYTES:  # noqa: PLR2004 - the last of ASCII
        return None
    found = [(*_weighed(near, reading), reading.encoding) for reading in _READINGS]
    _, dearness, encoding = min(found, key=lambda each: each[0])
    return encoding if encoding == LATIN or dearness <= _DEAR else None


def _weighed(data: bytes, reading: _Reading) -> tuple[float, float]:
    """Return what *data* costs in a reading, and what each byte of it that is not ASCII does.

    A lone character is an accent, or a symbol, whatever letter of another alphabet it might be.
    """
    try:
        text = data.decode(reading.encoding)
    except UnicodeDecodeError:
        return math.inf, math.inf
    plain = sum(map(str.isascii, text))
    if reading.letters == "foreign" and len(text) - plain == 1:
        return math.inf, math.inf
    cost = sum(
        _cost(character, reading.costs) + _oddness(before, character, reading.letters)
        for before, character in pairwise("\n" + text)
    )
    return reading.beforehand + cost, (cost - plain * _ASCII) / max(1, len(data) - plain)


def _cost(character: str, costs: Mapping[str, float]) -> float:
    if character.isascii():
        return _ASCII
    return costs.get(character.lower()) or (_SYMBOL if character in _SYMBOLS else _RARE)


def _oddness(before: str, character: str, letters: str) -> float:
    """Return what it costs that a letter of an alphabet stands behind the one *before*."""
    if not letters or not character.isalpha():
        return 0.0
    odd = 0.0
    if character.isupper() and not character.isascii():
        odd += _CAPITAL_WITHIN if before.islower() else _CAPITAL
    if before.isalpha():
        is_mixed = before.isascii() != character.isascii()
        if letters == "foreign":
            odd += _MIXED if is_mixed else 0.0
        elif not is_mixed and not character.isascii() and before != character:
            odd += _ACCENTS
    return odd
