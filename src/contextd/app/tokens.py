"""Access tokens of the service: create, check, list, revoke."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from contextd.app.asking import reader_of
from contextd.errors import Conflict, InvalidInput, NotFound
from contextd.ports.record import AccessTokens
from contextd.settings.limits import checked_name, checked_texts
from contextd.settings.permissions import make_folder, open_file
from contextd.text.escapes import unescaped
from contextd.values.access_token import ADMIN, RIGHTS, AccessToken
from contextd.values.document import OWNER
from contextd.values.query import Reader

FIRST = "cli"  # name of the token that the command line and the library use
_PREFIX = "ctd"
_ID_BYTES, _SECRET_BYTES = 8, 32
_TOKEN = re.compile(rf"{_PREFIX}_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9A-Za-z_-]{{43}})")
_IN_BYTES = re.compile(_TOKEN.pattern.encode())
_PACKED = re.compile(r"[0-9A-Za-z+/_-]{80,}")  # base64 of at least a token
_URL_SAFE = str.maketrans("-_", "+/")
_DURATION = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
_NOBODY = bytes(32)  # compared with, for a token that does not exist


@dataclass(frozen=True, slots=True)
class TokenService:
    """The tokens of a data directory."""

    stored: AccessTokens
    clock: Callable[[], int] = lambda: time.time_ns() // 1000

    def create(
        self,
        name: str,
        *,
        reader: str = OWNER,
        groups: Iterable[str] = (),
        may: str = "read",
        workspaces: Iterable[int] = (),
        private: bool = False,
        expires: str = "",
    ) -> str:
        """Store a new token and return it. It cannot be shown again. `expires` is a duration such as 90d."""
        checked_name(name, "token")
        if may not in RIGHTS:
            raise InvalidInput(f"no such right: {may!r}; the rights are {', '.join(RIGHTS)}")
        who = Reader(
            reader_of(reader).name, frozenset(checked_name(group, "group") for group in checked_texts("group", groups))
        )
        number, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        now = self.clock()
        end = now + _microseconds(expires) if expires else None
        self.stored.add(AccessToken(number, name, _digest(secret), who, may, now, end, frozenset(workspaces), private))
        return f"{_PREFIX}_{number}_{secret}"

    def check(self, given: str) -> AccessToken | None:
        """Return the token if it is known and has not expired. Takes the same time for a wrong secret and an unknown id."""
        match = _TOKEN.fullmatch(given)
        number, secret = match.groups() if match else ("", "")
        token = self.stored.get(number)
        same = hmac.compare_digest(_digest(secret), token.digest if token else _NOBODY)
        if token is None or not same or self._has_expired(token):
            return None
        return token

    def is_valid(self, token: AccessToken) -> bool:
        """Return whether a token that was checked before has neither been revoked nor expired since."""
        return self.stored.get(token.id) is not None and not self._has_expired(token)

    def all(self) -> list[AccessToken]:
        """Return every token, oldest first."""
        return self.stored.all()

    def revoke(self, name: str) -> None:
        """Delete a token. Raises `NotFound`."""
        if not self.stored.revoke(name):
            raise NotFound(f"no such token: {name!r}; run `contextd token list` for a list")

    def _has_expired(self, token: AccessToken) -> bool:
        return token.expires is not None and token.expires <= self.clock()

    def own(self, folder: Path) -> str:
        """Return the token of the command line and the library. It is created on first use, in a file of mode 0600."""
        path = folder / "token"
        with suppress(OSError):
            known = path.read_text("ascii").strip()
            if self.check(known) is not None:
                return known
        self.stored.revoke(FIRST)
        try:
            made = self.create(FIRST, may=ADMIN, private=True)
        except Conflict:  # another process was faster
            return path.read_text("ascii").strip()
        make_folder(folder)
        fresh = path.with_suffix(f".{secrets.token_hex(4)}")
        with open_file(fresh, "w") as file:
            file.write(made + "\n")
        fresh.replace(path)
        return made


def contains_token(text: str, layers: int = 2) -> bool:
    """Return whether a text contains an access token, valid or not; also percent-encoded, or in base64 (so many layers)."""
    plain = unescaped(text)
    if plain is None or _TOKEN.search(plain):  # nobody has a reason to escape a text that often
        return True
    return layers > 0 and any(contains_token(one, layers - 1) for one in _unpacked(plain))


def without_tokens(data: bytes) -> bytes:
    """Return data with every access token in it, valid or not, replaced. Only plain ones: no program escapes their letters."""
    return _IN_BYTES.sub(b"[REDACTED]", data) if _PREFIX.encode() in data else data


def _unpacked(text: str) -> Iterator[str]:
    """Yield what a text may have in base64. It may begin at any of four places: what stands before it is not known."""
    for run in _PACKED.findall(text):
        letters = run.translate(_URL_SAFE)
        for start in range(4):
            part = letters[start:]
            yield b64decode(f"{part[:-1] if len(part) % 4 == 1 else part}==").decode("latin-1")


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _microseconds(duration: str) -> int:
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise InvalidInput(f"invalid duration: {duration!r}; use a number with h, d or w, such as 90d")
    return int(match[1]) * _HOURS[match[2]] * 3_600_000_000
