"""Decide whether a value at a place for secrets is a secret.

The place sets the burden of proof. After a name such as `password`, any literal is a secret unless it is clearly a
placeholder, a reference, code or a name. In a sentence, only a value that does not look like a word is a secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import Enum
from functools import lru_cache
from itertools import pairwise


class Says(Enum):
    """The kind of value that a name announces."""

    NOTHING = 0
    TOKEN = 1
    SECRET = 2
    PASSWORD = 3


_PASSWORD = frozenset("pass passcode pw psw psk mdp authtok requirepass masterauth sshpass mnemonic keymaterial".split())
_SECRET = frozenset("secrets credential credentials salt pepper parola geheim".split())
_TOKEN = frozenset("token jwt bearer".split())
# Compounds without a separator, such as `userpassword`, `storepass` or `jwtsecret`.
_ENDS_PASSWORD = re.compile(
    r"(?:password|passwd|passwort|passphrase|(?<!old)pwd)$|"
    r"^(?:src|dest|new)?(?:store|key|db|user|admin|root|ssh|sudo|become|mysql|pg|sql|smtp|imap|mail|ftp|ldap|bind|http|proxy|wifi|wlan|rpc|redis|mongo|"
    r"rabbit|auth|login|web|vnc|rdp|cert|trust|truststore|keystore|priv|account|my|wp)(?:pass|pw)$"
)
_ENDS_SECRET = re.compile(
    r"secret$|^(?:api|secret|access|private|auth|app|master|encryption|signing|storage|account|shared|aes|hmac|subscription|license)key$"
)
_ENDS_TOKEN = re.compile(
    r"^(?:auth|access|api|bot|refresh|bearer|session|deploy|user|oauth|vault|github|gitlab|slack|npm)token$"
)
# `password` in other languages, in which a qualifier may follow the word.
_IN_OTHER_LANGUAGES = re.compile(
    r"kennwort|passwort|contrase(?:n|\u00f1|ni|ny)a|palavra[ _-]?passe|senha|wachtwoord|mot[ _-]?de[ _-]?passe|has(?:l|\u0142)o(?:$|[^a-z])|heslo|"
    r"jelsz[o\u00f3]|salasana|l[o\u00f6]senord|passord|adgangskode|kodeord|slaptazodis|parool|lozinka|geslo|(?:^|[^a-z])sifre|\u015fifre|kata[ _-]?sandi|"
    r"\u043f\u0430\u0440\u043e\u043b|\u043b\u043e\u0437\u0438\u043d\u043a|\u5bc6[\u7801\u78bc]|\u53e3\u4ee4|\u30d1\u30b9\u30ef\u30fc\u30c9|"
    r"\ube44\ubc00\ubc88\ud638|\uc554\ud638"
)
# Kinds of keys that are secrets.
_OF_KEY = frozenset(
    "api access secret private auth encryption encrypt account consumer client app application master signing sign storage "
    "admin deploy webhook crypto cipher aes hmac jwt session cookie nonce in service subscription preshared shared integration server "
    "license user root bot partner write read publish push validation decryption decrypt machine functions wpa wep wifi psk".split()
)
# Words that may follow without changing the meaning.
_NEUTRAL = frozenset(
    "prod production dev development stage staging test testing live default value val string str text plain raw base64 b64 "
    "encoded encrypted enc new old current base primary secondary main global local hash hex data digest bytes md5 sha1 sha256 bcrypt".split()
)
_LABELS = frozenset(  # first words of names of form labels, functions and messages
    "forgot forgotten reset change changed show hide toggle enter invalid wrong missing empty require requires required no has "
    "is use uses using allow enable disable min max validate validates check checks verify compare hash get gets read ask "
    "prompt lost strong weak repeat confirm remember mismatch incorrect bad with without on off if when needs expired expires "
    "generate create update delete set send request find parse next prev last first num count total".split()
)
_PLACEHOLDERS = frozenset(
    "changeme change_me change-me changeit example none null nil true false undefined string todo fixme tbd required optional redacted "
    "hidden default value username user test testing foo bar baz qux foobar dummy fake mock empty unset placeholder sample "
    "int str bool bytes object number text any void unknown yes no on off disabled enabled insert replace replaceme "
    "key keys name email login abc xyz asdf qwerty hello world masked secure private public basic bearer prompt stdin".split()
)
_SECRET_WORDS = frozenset(  # a value of only these words names a secret and is not one
    "password passwords passwd passwort kennwort wachtwoord contrasena senha pass passphrase passcode pwd pw secret secrets token tokens key keys api apikey auth access refresh "
    "client user admin db database root login account credential credentials private public session csrf jwt id "
    "service app application the a an my your our their his her some this that is for of to and or new old current "
    "value field name here file path env var variable string text type code hash salt reset confirm confirmation "
    "enter invalid wrong missing incorrect required must not no be change changed forgot update create random generated "
    "haslo heslo losenord salasana passord clave mot passe input form label placeholder hint error message header cookie bearer basic oauth sso grant encrypted plain example dummy "
    "test testing fake mock sample demo real super secure strong weak long short default temp temporary replace insert "
    "with from in on at by use using used put set get add remove delete show hide read write dev prod production staging local "
    "server host port url uri http https aws gcp azure github gitlab google npm docker postgres mysql mongo redis "
    "signing encryption master webhook bot deploy x y z".split()
)
_STANDING_FOR_ONE = _SECRET_WORDS | _PLACEHOLDERS
_REFERENCE = re.compile(
    r"^(?:\$[\w{(\[]|\$\$|\{\{|\{%|<[^<>]*>?$|<%|%[\w({]+[\w)}]*%?s?$|#\{|@\{|@\w+$|\\[({]|env[.:(]|process\.env|os\.|vault[:_.]|ref\+|"
    r"secret[s]?[:/.]|ENC[\[(]|\{[\w.:\- ]*\}$|&\w+$|\*\w+$|!\w|op://|arn:|file:|data:|sops:|ssm:|aws:|gcp:|azure:|kms:|"
    r"\[\w|YOUR|your[-_ ]|my[-_]|\(\w+\)$|--|~$|@.*@$|%.*%$|__\w+__$|[\w:,.]+(?:\|[\w:,.]+)+$)"
)
_INSIDE = re.compile(
    r"\$\{\w|\{\{|#\{|<%|%\(\w+\)s|\$\(\w|\$\{\{|\{[\w.]*(?:![rsa])?(?::[^{}]{0,20})?\}|%[sdv@]|\\[wdsb(]|\[a-z|\[A-Z|\(\?|\[REDACTED\]"
)
_FILLER = re.compile(
    r"^(?:(.)\1*$|[x*.•_#?-]+$|x{3}|\*{3}|0123456789|1234567890$|abcdefg|deadbeef|00112233|change_?me|(?:fake|dummy)[a-z_-]*$)",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(r"\*{3}|\.{3}|…|<(?:[a-z][a-z\d _-]{2,39}|[A-Z][A-Z\d _-]{2,39})>")
_EXAMPLE = "EXAMPLE"  # in the keys of Amazon's documentation
# References to a stored secret, which may look random.
_POINTER = re.compile(
    r"^(?:\$\w+/|arn:aws|@Microsoft\.KeyVault\(|op://|vault:|projects/[^/]+/secrets/|\{\{resolve:|https://[\w-]+\.vault\.)"
)
_BYTES = re.compile(r"[{(\[]\s{0,8}(?:(?:0x[0-9a-fA-F]{1,2}|\d{1,3}|'[^'\n]')[uU]?\s{0,8}(?:,\s{0,8}|(?=[\])}]))){8,}")
_CODE = re.compile(
    r"^[\w.$:>\-\[\]\"']*\w\((?:.*\)|[\w.\"']*)[;,.]?\S*$|^[\w.$]*\w\[[\w.\"'\]]*.*|^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.|!\.)[A-Za-z_$][\w$]*)+\(?\)?;?$|^\w+\[[^\]]*\].*|^[{}()\[\];,]|^(?:new|await|not|lambda|function)\b"
)
_CALL = re.compile(r"^[\w.$:>-]+\(.*\)[;,]?$|.*\$?\{\{?\s?[A-Za-z_][\w.]*\s?\}|^[{\[<].*[}\]>]$|^\([^()]*\)")
_REGEX = re.compile(r"\(\?|\[a-zA-Z0-9]-|\[\^|\.\*|\\[dwsbDWS]|\.\+|\{\d+,|^\^.*\$$|^\^\[|\][+*]")
_PATH = re.compile(
    r"^(?:\.{0,2}/|~/|[A-Za-z]:\\|https?://|wss?://|file://|[\w-]+/[\w.-]+(?:/[\w.-]+)*$|[\w./-]+\.(?:txt|json|ya?ml|py|js|ts|html?|xml|pem|key|crt|cfg|conf|ini|properties|env|sh|go|rs|java|php|rb|md|log)$)"
)
_SEGMENTS = re.compile(r"^[A-Za-z][\w.$-]*(?:/[A-Za-z][\w.$-]*){2,}$")
_KNOWN = re.compile(
    r"^(?:sha-?\d+|md5|utf-?\d+|base(?:16|32|58|64)\w*|oauth-?2?\w*|v\d+|http/?\d*|[hre]s\d{3}|ed25519|x509|pbkdf2\w*|argon2\w*|aes-?\d*\w*|rsa\d*|p12|s3|ec2|k8s|i18n|utf8\w*|latin-?1|iso-?8859-?\d+|cp\d+)$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SIGNS = re.compile(r"[!@#$%^&*?+=~]")
_JOINT = re.compile(r"[-_]|\d$")  # excludes class names with a number inside
_NAME = re.compile(
    r"^(?:[A-Z0-9]+(?:[-_.][A-Z0-9]+)*|v?\d+(?:[.\-]\w+)*|[\w.+-]+@[\w-]+\.[\w.-]+)$"
)  # an algorithm, a version, an address
_UUID = re.compile(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_SPOKEN = frozenset(
    "the your a an for is to of in and or not please enter must be with at least this that you from by on it as if".split()
)
_JOINING = frozenset("the of on in and a an to with at under over by".split())
_TOLD = frozenset(  # words of messages about passwords that pass phrases do not contain
    "please must should cannot too short long characters character letters digits numbers symbols uppercase lowercase match matches least most "
    "between contain contains valid field fields mismatch same again incorrect provided choose pick shown only once leave keep own one copy paste not will can".split()
)

# Surprisal of each letter after another, in bits from 0 to 9, from the words in eight open source projects.
_BITS = (
    "84449759596353959343567868365637784692783794463999693858389359448929956359997946752679288587479547478869"
    "47436568798553857234867589387733792994883894654999594889285439956447934747997829972998399767369464599969"
    "56455559998452369543959795299628974967973677293768894786276737757557963559696838852789298388379955579949"
    "25972999399558438958599969484336284867864798336699796654766968644254934545588939773785499378349354599969"
    "59978998789399956658085799386527693966563795445689595947267439667745873248796939682794299678479345598959"
    "54565659499443749333899899297919783998774999787789993886388439969438934698789948363796399858729972699469"
    "5558477749944442863477595638671977399766499958689854"
)
_LOOKED_AT = 160  # characters of a value that are examined
_UNNATURAL = 4.9  # mean bits per pair: 95% of random letters are above, 1% of the words of such projects


@lru_cache(maxsize=4096)
def says(name: str) -> Says:
    """Return the kind of value that a name announces: `db_password`, `apiKey`, `CLIENT_SECRET_2`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _NEUTRAL):
        words.pop()
    if _IN_OTHER_LANGUAGES.search(name.lower()):
        return Says.PASSWORD
    if not words:
        return Says.NOTHING
    last = words[-1]
    if last in _PASSWORD or _ENDS_PASSWORD.search(last):
        return Says.PASSWORD
    if last in ("phrase", "material") and len(words) > 1 and words[-2] in ("pass", "seed", "recovery", "key"):
        return Says.PASSWORD
    if "public" in words:
        return Says.NOTHING
    if (
        last in _SECRET
        or words[0] == "clave"
        or _ENDS_SECRET.search(last)
        or (last == "key" and len(words) > 1 and words[-2] in _OF_KEY)
    ):
        return Says.SECRET
    return Says.TOKEN if last in _TOKEN or _ENDS_TOKEN.search(last) else Says.NOTHING


def is_secret(name: str, value: str, *, strict: bool = False, literal: bool = True, lenient: bool = False) -> bool:
    """Whether a value is a secret, given the name before it.

    `strict`: the place proves nothing, as in a sentence. `literal`: the value is quoted, so it is not code. `lenient`: the
    file is a test, an example or a document, where short values and plain words stay readable.
    """
    kind, value = says(name), value.strip()[:_LOOKED_AT]
    if kind is Says.NOTHING or len(value) < 4 or _is_no_value(value):
        return False
    if kind is not Says.TOKEN and _BYTES.match(value):
        return len(set(re.findall(r"\w+", value))) >= 5 and not re.match(r"\W*(?:0x0?0|0)\W+(?:0x0?1|1)\W", value)
    if lenient and (len(value) <= 8 or value.isalpha() or " " in value):
        return False
    if looks_random(value) and (literal or " " not in value):
        return True
    if _REFERENCE.match(value) or _INSIDE.search(value) or _PATH.match(value) or _KNOWN.match(value):
        return False
    if not literal and _CODE.match(value):
        return False
    if any(character.isspace() for character in value):
        return not strict and _is_phrase(name, kind, value)
    label = _WORDS.findall(name)[:1]
    strict = strict or bool(label and label[0].lower() in _LABELS)
    return _by_kind(kind, value, strict=strict, literal=literal, name=name)


def _is_no_value(value: str) -> bool:
    """Whether a text only stands for a value: filler, an ellipsis, a vendor's example, a reference, a placeholder."""
    return bool(
        _FILLER.match(value) or _ELLIPSIS.search(value) or _EXAMPLE in value or _POINTER.match(value) or _is_placeholder(value)
    )


def _by_kind(kind: Says, value: str, *, strict: bool, literal: bool, name: str) -> bool:
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if kind is Says.PASSWORD:
        if mixed:
            return len(value) >= (6 if strict else 4)
        if strict:
            return len(value) >= 8 and not value.isalpha() and _punctuated(value)
        return value.isdigit() or _is_made_up_word(value)
    if kind is Says.SECRET:
        if mixed:
            return len(value) >= (12 if strict else 8)
        return not strict and len(value) >= 8 and (_punctuated(value) or _is_worded(name, value, literal=literal))
    return mixed and len(value) >= (20 if strict else 12) and sum(map(str.isdigit, value)) >= 2


def is_strong(value: str) -> bool:
    """Whether a word looks like a password chosen by a person: a digit, and a sign or letters of both cases."""
    letters = [character for character in value if character.isalpha()]
    if len(value) < 8 or len(letters) < 3 or not any(map(str.isdigit, value)) or _PATH.match(value) or _NAME.match(value):
        return False
    cases = len({character.isupper() for character in letters})
    return bool(_SIGNS.search(value)) or (cases == 2 and bool(_JOINT.search(value)))


def looks_random(value: str) -> bool:
    """Whether a value looks machine-generated: hexadecimal, base64, a UUID or a random password."""
    if len(value) < 10 or not value.isascii() or len(set(value)) < 6 or _is_path(value):
        return False
    if _UUID.match(value):
        return True
    if " " not in value and re.fullmatch(r"[A-Za-z0-9+/=_.~-]+", value):
        return _random_run(value)
    if _REGEX.search(value) or "://" in value or (len(value) < 24 and (_INSIDE.search(value) or _REFERENCE.match(value))):
        return False
    return _generated(value)


def _is_path(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    rooted = value.startswith(("/", "./", "~/")) or (_SEGMENTS.match(value) and digits * 10 <= len(value))
    return bool(rooted) and not any(unnatural(part) for part in re.findall(r"[A-Za-z]{6,}", value))


def _random_run(value: str) -> bool:
    """Whether a run of letters, digits and base64 signs looks random."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value):
        return len(value) >= 16 and letters >= 3 and digits >= 3
    parts = [part for part in re.split(r"[^A-Za-z]+", value) if len(part) > 1]
    if not digits:
        return letters >= 20 and max(map(len, parts), default=0) >= 16 and unnatural(max(parts, key=len))
    if len(value) < 16 or letters < 4:
        return False
    if re.fullmatch(
        r"[a-z]+(?:[-_.][a-z0-9]+)*|[a-z0-9]+(?:[-_.][a-z0-9]+)+|[A-Z]+(?:[-_.][A-Z0-9]+)*|[A-Za-z]+[0-9]{1,4}", value
    ) and not unnatural("".join(parts)):
        return False
    flips = sum(_class(a) != _class(b) for a, b in pairwise(value))
    return _entropy(value) > 3.0 and flips >= len(value) * 0.28


def _generated(value: str) -> bool:
    """Whether a value looks like a generated password: at least three character classes that alternate often."""
    kinds = len({_class(character) for character in value} - {" "})
    if kinds < 3 or value.count(" ") * 8 > len(value) or _CALL.match(value):
        return False
    flips = sum(_class(a) != _class(b) for a, b in pairwise(value))
    return flips >= len(value) * 0.45 and _entropy(value) > 3.0


def _class(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "a" if character.islower() else "A"
    return " " if character.isspace() else "."


def unnatural(text: str) -> bool:
    """Whether the Latin letters of a text follow each other unlike those of words."""
    letters = "".join(re.findall("[A-Za-z]", text))
    flips = sum(a.islower() and b.isupper() for a, b in pairwise(letters))
    bits = [int(_BITS[(ord(a) - 97) * 26 + ord(b) - 97]) for a, b in pairwise(letters.lower())]
    return bool(bits) and (sum(bits) / len(bits) > _UNNATURAL or flips * 4 > len(letters))


def _entropy(value: str) -> float:
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())


def _is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder, or only words that say which value belongs here."""
    lowered = value.lower().strip("<>[](){}'\"`.,;:!")
    if lowered in _PLACEHOLDERS:
        return True
    words = _WORDS.findall(value)
    for word in words:
        if len(word) > 1 if word.isdigit() else word.lower() not in _STANDING_FOR_ONE:
            return False
    return bool(words)


def _punctuated(value: str) -> bool:
    """Whether a value has signs that names do not contain (`Nord!Wind`), or many letters in an unnatural order."""
    return bool(re.search(r"[^\w.\-:/ ]", value)) or (len(value) >= 16 and unnatural("".join(re.findall("[A-Za-z]", value))))


def _is_made_up_word(value: str) -> bool:
    """Whether a value is a word chosen as a password (`swordfish`), and not a name, a label or a key path."""
    if _punctuated(value):
        return True
    words = [word.lower() for word in _WORDS.findall(value)]
    if not words or ":" in value or any(word in _SECRET_WORDS for word in words):
        return False
    if "." in value:  # capitalized words of a pass phrase, not a key path
        return len(words) > 1 and all(len(part) > 2 and part.istitle() for part in value.split("."))
    if value.isalpha() and value.istitle():  # a capitalized word may be a label; long ones rarely are
        return len(value) >= 9
    joined = len(words) > 1 and len(value) >= 7 and value.isalpha() and value[0].isupper() and min(map(len, words)) > 2
    return value.islower() or "-" in value or "_" in value or joined or (len(value) >= 8 and unnatural(value))


def _is_worded(name: str, value: str, *, literal: bool) -> bool:
    """Whether a value is a secret of several words, such as `the-llamas-are-coming`; names have fewer."""
    last = [word.lower() for word in _WORDS.findall(name)][-2:]
    if not ("secret" in last or last[:1] in (["jwt"], ["signing"], ["encryption"], ["hmac"], ["cookie"])):
        return False
    words = re.split(r"[-_]", value.lower())
    own = [word for word in words if word not in _SECRET_WORDS and word not in _PLACEHOLDERS]
    fewest = 3 if literal and "_" not in value else 5
    return value.islower() and all(map(str.isalpha, words)) and len(words) >= fewest and len(own) >= 2


def _is_phrase(name: str, kind: Says, value: str) -> bool:
    """Whether a value is a pass phrase of several words, and not a sentence or a label."""
    words = value.split()
    if not all(word.isdigit() or (word.isalnum() and word.islower()) for word in words) or kind is Says.TOKEN:
        return False
    called = "phrase" in name.lower() or "psk" in name.lower() or "mnemonic" in name.lower()
    joining = sum(word in _JOINING for word in words)
    usual = (_SPOKEN | _SECRET_WORDS | _PLACEHOLDERS | _LABELS | _TOLD) - _JOINING
    if words[0] in _JOINING or joining * 2 > len(words) or (joining and len(words) < 4):
        return False
    return len(words) - joining >= (1 if called else 2) and len(set(words)) * 2 > len(words) and not usual & set(words)
