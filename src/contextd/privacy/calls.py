"""Find secrets that are positional arguments: `login(user, "…")`, `PDO(source, user, "…")`, `createHmac(kind, "…")`.

A table lists which argument of which function is a secret. Each call is read up to a limit, so the time is linear. Keyword
arguments (`password="…"`) are assignments and found by `places`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from contextd.privacy.linear import linear
from contextd.privacy.literals import Place

# Functions by the index of their password argument, from 0.
_PASSWORDS = {
    0: "AzureKeyCredential",
    1: "NetworkCredential UsernamePasswordCredentials PasswordAuthentication HTTPBasicAuth HttpBasicAuth HTTPDigestAuth HTTPProxyAuth "
    "SetBasicAuth setBasicAuth basic_auth basicAuth BasicAuth digest_auth BasicAWSCredentials AwsBasicCredentials.create "
    "BasicSessionCredentials Aws::Credentials.new Credentials.basic AuthTokens.basic auth.basic BasicCredentials PSCredential login auth authenticate auth_password "
    "simple_bind simple_bind_s bind_s PlainTextAuthProvider with_credentials withCredentials cx_Oracle.connect oracledb.connect oci_connect "
    "oci_pconnect StorageSharedKeyCredential OAuthHandler twilio Twilio sp_addlogin algoliasearch PlainCredentials username_pw_set WiFi.begin OAuth2Client",
    2: "PlainAuth ftp_login ssh2_auth_password imap_open ldap_bind mysqli_connect mysqli mysql_connect PDO DBI->connect getConnection "
    "DirectoryEntry pymssql.connect MySQLdb.connect pymysql.connect odbc_connect Mysql.new Mysql2::Client.new createCredential "
    "signInWithEmailAndPassword createUserWithEmailAndPassword Sequelize ClientSecretCredential ActiveXObject",
    3: "mysql_real_connect fromDriverManager",
    4: "Net::SMTP.start JedisPool",
}
_KEYS = {
    0: "SecretKeySpec SymmetricSecurityKey Fernet AES.new hmac.new cookieParser NewCookieStore Key.fromUtf8 setSigningKey signWith",
    1: "createHmac createCipheriv createDecipheriv createCipher AES.encrypt AES.decrypt HmacSHA256 hmac.New jwt.sign jwt.verify jwt.encode "
    "jwt.decode jsonwebtoken.sign jsonwebtoken.verify JWT.encode JWT.decode",
    2: "hash_hmac openssl_encrypt openssl_decrypt",
}
_POSITIONS = {
    name.encode(): (position, kind)
    for kind, table in (("password", _PASSWORDS), ("secret", _KEYS))
    for position, names in table.items()
    for name in names.split()
}
_CALL = linear(
    rb"\b(?:"
    + b"|".join(map(re.escape, sorted(_POSITIONS, key=len, reverse=True)))
    + rb")(?:\[\w{1,20}\])?(?:\s{0,4}\(|[ \t]{1,2}[\"'])|\w{0,30}(?:[cC]redentials?|[lL]ogin_?[uU]ser|[bB]asic_?[aA]uth|[pP]lain_?(?:[aA]uth|[cC]lient|[lL]ogin))\w{0,20}\(|"
    rb"(?:\b|_)(?:auth|AUTH|creds|CREDS|credentials|CREDENTIALS)[ \t]{0,2}[=:][ \t]{0,2}[(\[]"
)
_GENERIC = frozenset((b"login", b"auth", b"authenticate"))  # common names: strict, unless argument 0 is a literal
_ASSIGNED = re.compile(rb"[=:][ \t]{0,2}[(\[]\Z")
_TUPLE = (1, "password")  # `auth=(user, "…")`
_TOKEN = re.compile(
    rb"(?P<literal>[bBrRuUfFN@$]{0,2}(?:\"(?:[^\"\\\n]|\\.){0,300}\"|'(?:[^'\\\n]|\\.){0,300}'|`[^`\n]{0,300}`)|\bqq?\{[^{}\n]{0,200}\}|%[qQ]\{[^{}\n]{0,200}\})|"
    rb"(?P<comment>/\*[^*]{0,200}\*/|(?://|#)[^\n]{0,200}(?=\n))|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<end>;)"
)
_CONTENT = re.compile(rb"[bBrRuUfFN@$]{0,2}([\"'`])([\s\S]*)\1\Z|(?:qq?|%[qQ])\{([\s\S]*)\}\Z")
_LONGEST_CALL = 600
_MOST_TOKENS = 40
_DEEPEST = 3


class _Argument(NamedTuple):
    number: int
    start: int
    end: int


def arguments(data: bytes) -> Iterator[Place]:
    """Yield the literals that known functions take as a password or a key."""
    for call in _CALL.finditer(data):
        name = re.split(rb"[\s(\[]", call.group(), maxsplit=1)[0]
        if name not in _POSITIONS and call.group()[-1:] == b"(" and not _ASSIGNED.search(call.group()):
            yield from _last_of_several(data, call.end())
            continue
        position, kind = _POSITIONS.get(name, _TUPLE)
        begin = call.end() - (call.group()[-1:] in b"\"'")
        literals = list(_literals(data, begin, position))
        strict = name in _GENERIC and not any(literal.number == 0 for literal in literals)
        found = next((literal for literal in literals if literal.number == position), None)
        if found:
            yield Place(kind, found.start, found.end, strict=strict)


def _last_of_several(data: bytes, begin: int) -> Iterator[Place]:
    """Yield the last of two or three literals of a function whose name says that it takes credentials."""
    literals = list(_literals(data, begin, 2))
    if len(literals) >= 2 and literals[-1].number > 0:
        yield Place("password", literals[-1].start, literals[-1].end, strict=True)


def _literals(data: bytes, begin: int, last: int) -> Iterator[_Argument]:
    """Yield the literals of a call up to argument `last`, each with the index of its argument."""
    number, depth = 0, 0
    for count, token in enumerate(_TOKEN.finditer(data, begin, begin + _LONGEST_CALL)):
        kind = token.lastgroup
        if kind == "literal" and depth <= 2 and (content := _CONTENT.match(data, *token.span())):
            group = 2 if content.group(2) is not None else 3
            yield _Argument(number, *content.span(group))
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "comma" and depth == 0:
            number += 1
        if kind == "end" or number > last or depth < 0 or depth > _DEEPEST or count > _MOST_TOKENS:
            return
