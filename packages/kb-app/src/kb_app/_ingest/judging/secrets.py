"""Secrets, which are not indexed, and text that gives orders to a model, which is flagged.

What is said of a find is its kind and its line, never the secret itself. The patterns are
those of credentials that are recognisable as such: a private key with a body, tokens
with their issuer's prefix and length. A bare ``password = "…"`` is not looked for, and
placeholders (``AKIAIOSFODNN7EXAMPLE``, ``ghp_xxxxxxxx…``) are not taken for secrets.

Prefixes, alphabets and lengths of tokens are those that the rules of gitleaks 8 and the
plugins of detect-secrets 1 know; names of files are those of Gitrob's signatures and of the
programs that write them. Every pattern looks at a bounded stretch of the text from where its
prefix stands, so that no text takes more than linear time.

Text that speaks to a language model rather than to a reader is kept, found and cited like
any other, and flagged, so that an agent can see that a document tries to give it orders.
Its patterns are few and plain on purpose: a flag is a hint, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kb_app._ingest.judging.kinds import Skip
from kb_core.ingest import SkipReason
from kb_core.values import lazy_pattern

__all__ = ["SECRETS", "SECRETS_VERSION", "Secret", "check_secret_name", "find_secret", "flags_of"]
__all__ += ["find_passwords", "words_of_orders"]

_NAMES = lazy_pattern(
    r"""
    \.env(?:\.(?!example$|sample$|template$|dist$|defaults?$)[\w-]+)? | \.?[\w-]+\.env
    # what shells and other programs have been told
  | \.[\w-]*hist(?:ory|file)(?:-\d+)? | \.(?:lesshst|viminfo|dbshell)
  | fish_history | consolehost_history\.txt
    # keys, and the hosts that they open
  | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)? | known_hosts(?:\.old)? | secring\.gpg
  | .*\.(?:key|p12|pfx|pkcs12|p8|ppk|jks|bks|keystore|keytab|ovpn)
    # passwords, and what keeps them
  | .*\.(?:kdbx?|psafe3|agilekeychain|keychain(?:-db)?|kwallet) | key[34]\.db | logins\.json
  | login\ data | signons\.sqlite | cookies(?:\.sqlite|-journal)? | \.htpasswd | proftpdpasswd
    # programs that write them into their settings
  | [._]netrc | \.pgpass | pgpass\.conf | \.my(?:login)?\.cnf | \.git-credentials | \.pypirc
  | \.dockercfg | \.s3cfg | \.boto | \.vault-token | \.(?:fetchmail|msmtp|offlineimap|mutt)rc
  | \.smbcredentials | rclone\.conf | sftp-config\.json | recentservers\.xml | sitemanager\.xml
  | credentials\.tfrc\.json | application_default_credentials\.json
    """,
    re.VERBOSE,
)
_PATHS = (
    "/.aws/credentials",
    "/.cargo/credentials",
    "/.cargo/credentials.toml",
    "/.config/gh/hosts.yml",
    "/.config/hub",
    "/.docker/config.json",
    "/.gem/credentials",
    "/.kube/config",
    "/.ssh/identity",
    "/etc/shadow",
)
_PUBLIC_ENV = ("example.env", "sample.env", "template.env", "default.env", "defaults.env")


SECRETS_VERSION = "s3"
"""With another one, what was indexed is judged again."""


class Secret(NamedTuple):
    """A kind of secret; the regex runs only over texts that hold the anchor.

    It begins with characters that stand for themselves, for which a text is searched quickly;
    what has to stand before them is looked at from there.
    """

    kind: str
    anchor: str
    regex: str
    """Its first group is what must not look like a placeholder."""


SECRETS = (
    Secret(
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----[\"'+\s\\nr]{0,60}"
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n]{0,200}\n[\"'+\s]{0,60}){0,6}"
        r"([A-Za-z0-9+/=]{40,80})",
    ),
    Secret("putty private key", "PuTTY-User-Key-File", r"PuTTY-User-Key-File-\d: [\w-]{1,40}\s"),
    Secret("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1([0-9A-Z]{58})"),
    Secret("cookie jar", "HTTP Cookie File", r"\A# (?:Netscape )?HTTP Cookie File\b"),
    Secret(
        "json web token",
        ".eyJ",
        r"\beyJ[\w-]{14,600}+\.(eyJ[\w-]{14,4000}+)\.[\w-]{10}",
    ),
    Secret("1password token", "ops_eyJ", r"\bops_(eyJ[A-Za-z0-9+/]{250})"),
    Secret("alibaba access key", "LTAI", r"\bLTAI([A-Za-z0-9]{20})\b"),
    Secret("anthropic key", "sk-ant-", r"\bsk-ant-[a-z0-9]{1,12}-([\w-]{80,120})"),
    Secret("artifactory key", "AKCp", r"\bAKCp([A-Za-z0-9]{69})\b"),
    Secret("atlassian token", "ATATT3", r"\bATATT3([\w=-]{186})"),
    Secret("aws access key", "AKIA", r"\bAKIA([A-Z2-7]{16})\b"),
    Secret("aws session key", "ASIA", r"\bASIA([A-Z2-7]{16})\b"),
    Secret(
        "aws secret key",
        "ws_secret_access_key",
        r"aws_secret_access_key[\"']?\s{0,8}[=:]\s{0,8}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    Secret("azure client secret", "Q~", r"Q~(?<=[\w~.]{3}\dQ~)([\w~.-]{31,34})(?![\w~.-])"),
    Secret("azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    Secret("databricks token", "dapi", r"\bdapi([a-f0-9]{32})\b"),
    Secret("digitalocean token", "_v1_", r"_v1_(?<=\bdo[opr]_v1_)([a-f0-9]{64})\b"),
    Secret("doppler token", "dp.pt.", r"\bdp\.pt\.([A-Za-z0-9]{43})\b"),
    Secret("dynatrace token", "dt0c01.", r"\bdt0c01\.([A-Za-z0-9]{24}\.[A-Za-z0-9]{64})\b"),
    Secret("github token", "gh", r"\bgh[pousr]_([A-Za-z0-9]{36,255})\b"),
    Secret("github token", "github_pat_", r"\bgithub_pat_([A-Za-z0-9_]{60,255})\b"),
    Secret(
        "gitlab token",
        "gl",
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-([\w-]{20,64})",
    ),
    Secret("gitlab runner token", "GR1348941", r"\bGR1348941([\w-]{20})"),
    Secret("google api key", "AIza", r"\bAIza([0-9A-Za-z_-]{35})(?![0-9A-Za-z_-])"),
    Secret("google oauth secret", "GOCSPX-", r"\bGOCSPX-([0-9A-Za-z_-]{28})\b"),
    Secret("grafana token", "gls", r"\bglsa_([A-Za-z0-9]{32}_[A-Fa-f0-9]{8})\b"),
    Secret("grafana cloud token", "glc_", r"\bglc_([A-Za-z0-9+/]{32,400})"),
    Secret("heroku key", "HRKU-AA", r"\bHRKU-AA([\w-]{58})"),
    Secret("hugging face token", "hf_", r"\bhf_([A-Za-z0-9]{34,40})\b"),
    Secret(
        "kubernetes client key",
        "client-key-data:",
        r"client-key-data:\s{0,8}([A-Za-z0-9+/=]{100})",
    ),
    Secret("linear key", "lin_api_", r"\blin_api_([A-Za-z0-9]{40})\b"),
    Secret("mailchimp key", "-us", r"-us(?<=\b([a-f0-9]{32})-us)\d{1,2}\b"),
    Secret("new relic key", "NRAK-", r"\bNRAK-([A-Z0-9]{27})\b"),
    Secret("notion token", "ntn_", r"\bntn_(\d{11}[A-Za-z0-9]{35})\b"),
    Secret("npm token", "npm_", r"\bnpm_([A-Za-z0-9]{36})\b"),
    Secret("openai key", "T3BlbkFJ", r"T3BlbkFJ(?<=[\w-]{16}T3BlbkFJ)([\w-]{16,180})"),
    Secret(
        "sk- key",
        "sk-",
        r"\bsk-(?:[A-Za-z0-9]{1,12}[-_]){0,3}"
        r"((?=[A-Za-z]{0,127}\d)(?=\d{0,127}[A-Za-z])[A-Za-z0-9]{30,128})\b",
    ),
    Secret("perplexity key", "pplx-", r"\bpplx-([A-Za-z0-9]{48})\b"),
    Secret("planetscale credential", "pscale_", r"\bpscale_(?:tkn|oauth|pw)_([\w=.-]{32,64})"),
    Secret("postman key", "PMAK-", r"\bPMAK-([a-f0-9]{24}-[a-f0-9]{34})\b"),
    Secret("pulumi token", "pul-", r"\bpul-([a-f0-9]{40})\b"),
    Secret("pypi token", "pypi-AgEI", r"\bpypi-AgEI([\w-]{50,200})"),
    Secret("rubygems token", "rubygems_", r"\brubygems_([a-f0-9]{48})\b"),
    Secret("sendgrid key", "SG.", r"\bSG\.([\w-]{22}\.[\w-]{43})\b"),
    Secret("sendinblue key", "xkeysib-", r"\bxkeysib-([a-f0-9]{64}-[A-Za-z0-9]{16})\b"),
    Secret("sentry token", "sntryu_", r"\bsntryu_([a-f0-9]{64})\b"),
    Secret("sentry token", "sntrys_", r"\bsntrys_(eyJ[\w+/=-]{60,400})"),
    Secret("shopify token", "shp", r"\bshp(?:at|ca|pa|ss)_([a-fA-F0-9]{32})\b"),
    Secret(
        "slack token",
        "xox",
        r"\bxox[abeoprs]-(\d{8,14}-[A-Za-z0-9-]{16,80}"
        r"|(?:\d-)?(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{20,200})",
    ),
    Secret("slack app token", "xapp-", r"\bxapp-\d-([A-Z0-9]{6,20}-\d{6,20}-[a-f0-9]{32,64})"),
    Secret(
        "slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/([A-Za-z0-9]{20,40})",
    ),
    Secret("square token", "sq0", r"\bsq0(?:atp|csp)-([\w-]{22,60})"),
    Secret("stripe key", "k_live_", r"k_live_(?<=\b[sr]k_live_)([A-Za-z0-9]{24,99})\b"),
    Secret("teams webhook", "/webhookb2/", r"/webhookb2/([\w@-]{70,80})/IncomingWebhook/"),
    Secret("telegram token", ":A", r":A(?<=\d{8}:A)([\w-]{34})(?![\w-])"),
    Secret(
        "terraform token", ".atlasv1.", r"\.atlasv1\.(?<=[A-Za-z0-9]{14}\.atlasv1\.)([\w=-]{60,70})"
    ),
    Secret("twilio key", "SK", r"\bSK([0-9a-f]{32})\b"),
    Secret("typeform token", "tfp_", r"\btfp_([\w.=-]{59})"),
    Secret("vault token", "hv", r"\bhv[bs]\.([\w-]{90,300})"),
)
"""The kinds of secrets that are looked for in a text."""

_PARTED = frozenset(
    {"private key", "putty private key", "cookie jar", "aws secret key", "kubernetes client key"}
)
"""Kinds that white space may stand in, or that are short; all others are in one piece."""
_SHORTEST = 20
"""How many characters without white space the shortest of those have."""
_PLACEHOLDER = lazy_pattern(
    r"example|xxxx|\*\*\*|0{6}|a{6}|1234567|abcdefg|your|dummy|fake|redacted"
    r"|ixmjm0nty3odkw"  # "1234567890" as the token of jwt.io has it
)
_MIN_DISTINCT = 9
_BORDER = r"\b"
_WORD = lazy_pattern(r"\w")

_EARLIER = (
    r"\s+(?:all\s+|any\s+|the\s+|your\s+|my\s+)*"
    r"(?:previous|prior|above|earlier|preceding|existing)\s+"
    r"(?:instructions?|prompts?|rules|messages?|context|directions?)\b"
)
_ARE_NOW = r"\byou\s+are\snow\s+(?:a|an|in|the)\b.{0,40}\b(?:assistant|model|mode|ai|agent)\b"
_TO_MODELS = r"\b(?:note|notice|message|instructions?)\s+(?:to|for)\s+(?:all\s+)?(?:ai|llms?)\b"
_TURNS = r"<\|?(?:im_start|im_end|system|endoftext|start_header_id|end_header_id|eot_id)\|?>"
_ORDERS = {
    **{verb: rf"\b{verb}{_EARLIER}" for verb in ("ignore", "disregard", "forget", "override")},
    "s above": r"\b(?:rules|instructions)\s+above\s+(?:are|no\s+longer)\s+"
    r"(?:cancell?ed|void|apply)\b",
    "are now": _ARE_NOW,
    "are\nnow": _ARE_NOW,
    " prompt": r"\b(?:reveal|print|repeat|show)\s+(?:me\s+)?(?:your|the)\s+"
    r"(?:system|hidden|initial)\s+prompt\b",
    "new task": r"\bnew\s+task\s+for\s+the\s+(?:assistant|model|ai|agent)\b",
    " to ai": _TO_MODELS,
    " for ai": _TO_MODELS,
    " to llm": _TO_MODELS,
    " for llm": _TO_MODELS,
    "dear ": r"\bdear\s+(?:language\s+model|ai|assistant)\b",
    "anweisungen": r"\b(?:vergiss|vergesst|ignoriere?t?|missachtet?)\s+(?:alle\s+|die\s+|deine\s+)*"
    r"(?:bisherigen|vorherigen|obigen|früheren)\s+anweisungen\b",
    "regeln oben": r"\bregeln\s+oben\s+gelten\s+nicht\b",
    "für ki": r"\b(?:hinweis|nachricht|anweisung)\s+für\s+ki\b",
    "instrucciones": r"\b(?:ignora|olvid)\w{0,2}\s+(?:todas\s+)?(?:las\s+|tus\s+)*instrucciones\s+"
    r"(?:anteriores|previas)\b",
    "reglas de arriba": r"\breglas\s+de\s+arriba\s+ya\s+no\s+valen\b",
    "de ia": r"\b(?:aviso|nota|mensaje)\s+para\s+(?:los\s+)?(?:asistentes|modelos)\s+de\s+ia\b",
    "précédentes": r"\b(?:ignore[rz]?|oublie[rz]?)\s+(?:toutes\s+)?(?:les\s+|tes\s+|vos\s+)*"
    r"(?:instructions|consignes|règles)\s+précédentes\b",
    "무시": r"(?:이전|위)의?\s?(?:모든\s?)?(?:지시|명령|규칙)\S{0,3}\s?무시",
    "취소": r"(?:이전|위)의?\s?(?:모든\s?)?(?:지시|명령|규칙)\S{0,3}\s?취소",
    "에게": r"\b(?:ai|인공지능)\s?(?:도우미|비서|모델)에게",
    "無視": r"(?:これまで|以前|上記?|前)の(?:すべての)?(?:指示|命令|規則)[をは](?:すべて)?無視",
    "取り消": r"(?:これまで|以前|上記?|前)の(?:すべての)?(?:指示|命令|規則)[をは](?:すべて)?取り消",
    "アシスタントへ": r"\bai(?:アシスタント|モデル)へ",
    "忽略": r"忽略(?:之前|以上|先前|前面)的?(?:所有|一切)?(?:指令|指示|规则|提示)",
    "以上": r"以上(?:所有)?(?:规则|指令)(?:已经?|都)?(?:取消|作废|无效)",
    "智能": r"[致给](?:ai|人工智能)(?:助手|模型)",
    "|>": _TURNS,
    "<system>": _TURNS,
    "_of_turn": r"<(?:start|end)_of_turn>",
    "｜": r"<｜(?:user|assistant)｜>",
    "inst]": r"\[/?inst\]",
    "<<sys": r"<</?sys>>",
    # Letters that no reader sees, more of them than the flag of a country has.
    "\U000e0020": "[\U000e0020-\U000e007e]{8}",
}
"""By words that are in whatever it finds, what looks like orders to a model, in small letters."""


_OUR_PASSWORDS = lazy_pattern(r"^\[\[passwords\]\]", re.MULTILINE)


def find_passwords(path: str, text: str) -> Skip | None:
    """Judge what may be a configuration of kebab: passwords that it names stay out of any index."""
    found = _OUR_PASSWORDS.search(text) if path.lower().endswith(".toml") else None
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return Skip(SkipReason.SECRET_SUSPECTED, f"passwords for kebab, line {line}")


def check_secret_name(path: str) -> Skip | None:
    """Judge a file by its name, unread: ``.env``, ``id_rsa``, ``.bash_history`` and their like."""
    lower = "/" + path.lower()
    name = lower[lower.rfind("/") + 1 :]
    if name in _PUBLIC_ENV or not (_NAMES.fullmatch(name) or lower.endswith(_PATHS)):
        return None
    return Skip(SkipReason.SECRET_SUSPECTED, f"files called {name} may hold credentials")


def find_secret(text: str) -> Skip | None:
    """Judge a text by what it holds; the detail names the kind and the line."""
    # Of most texts a tenth, which is looked through sixty times.
    solid = " ".join([piece for piece in text.split() if len(piece) >= _SHORTEST])
    for secret in SECRETS:
        if secret.anchor not in (text if secret.kind in _PARTED else solid):
            continue
        # With a border of a word in front, the literal beginning would not be searched for.
        bare = secret.regex.removeprefix(_BORDER)
        for match in re.finditer(bare, text):
            start = match.start()
            if bare != secret.regex and start and _WORD.match(text, start - 1):
                continue
            if match.lastindex is None or not _is_placeholder(match[1]):
                line = text.count("\n", 0, start) + 1
                return Skip(SkipReason.SECRET_SUSPECTED, f"{secret.kind}, line {line}")
    return None


def _is_placeholder(token: str) -> bool:
    head = token[:200]
    return len(set(head)) < _MIN_DISTINCT or _PLACEHOLDER.search(head.lower()) is not None


def words_of_orders(text: str) -> tuple[str, ...]:
    """Return the words in *text* that orders to a model have, for ``flags_of`` its parts."""
    small = text.lower()
    return tuple(word for word in _ORDERS if word in small)


def flags_of(text: str, words: Sequence[str] = tuple(_ORDERS)) -> tuple[str, ...]:
    """Return ``("instructions",)`` where *text* looks like orders to a model.

    *words* are what ``words_of_orders`` finds in all that *text* is a part of.
    """
    if not words:
        return ()
    small = text.lower()
    told = any(word in small and re.search(_ORDERS[word], small) for word in words)
    return ("instructions",) if told else ()
