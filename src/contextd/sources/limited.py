"""Read files of other programs within limits: JSON arrays, also in zips, and lines. Nothing is unpacked to disk."""

from __future__ import annotations

import codecs
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import ijson

from contextd.values.conversation import Unread

MEGABYTE = 1 << 20
DEPTH = 100  # nested brackets; the deepest exports known have about 20
ENTRY = 128 * MEGABYTE  # bytes of one conversation in an array
LINE = 16 * MEGABYTE  # characters of a line
MEMBERS = 100_000  # files in a zip
RATIO = 100  # uncompressed bytes per byte of a zip; texts have about 10
TOTAL = 8 << 30  # uncompressed bytes of one zip
_FREE = MEGABYTE  # uncompressed bytes before the ratio is checked
_CHUNK = 1 << 16


class Refused(ValueError):
    """A limit was reached; the message says which one and what to do."""


class Meter:
    """Counts bytes read, so that a waiting process knows that reading continues."""

    def __init__(self, beat: Callable[[], None] = lambda: None) -> None:
        self._beat, self.bytes = beat, 0

    def count(self, size: int) -> None:
        """Add the number of bytes read."""
        self.bytes += size
        self._beat()


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file: no link, and no pipe or device, which may block forever."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def entries(path: Path, meter: Meter) -> Iterator[dict[str, Any] | Unread]:
    """Yield the entries of every array of conversations in a file or zip, one at a time."""
    if path.suffix.lower() != ".zip":
        with path.open("rb") as stream:
            yield from _array(_Counted(stream, meter), path.name)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _members(archive, path, meter)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        yield Unread(path.name, f"not a complete zip file ({error}); download it again", stopped=True)
    except NotImplementedError as error:
        yield Unread(path.name, f"it is compressed in a way that cannot be read ({error}); unpack it first", stopped=True)


def _members(archive: zipfile.ZipFile, path: Path, meter: Meter) -> Iterator[dict[str, Any] | Unread]:
    members = archive.infolist()
    if len(members) > MEMBERS:
        raise Refused(f"there are {len(members)} files in it, at most {MEMBERS} are read; unpack it and import the folder")
    allowance = _Allowance(path.stat().st_size)
    found = [one for one in members if re.search(r"(^|/)conversations[^/]*\.json$", one.filename)]
    for member in sorted(found, key=lambda one: one.filename):
        if ".." in member.filename.split("/") or member.filename.startswith("/"):
            yield Unread(member.filename, "its path leads out of the zip; it is not read")
        elif member.flag_bits & 1:
            yield Unread(member.filename, "it is encrypted; unpack it first, then import the folder", stopped=True)
        else:
            with archive.open(member) as stream:
                yield from _array(_Counted(stream, meter, allowance), member.filename)
    if not found:
        inner = next((one.filename for one in members if one.filename.lower().endswith(".zip")), "")
        remedy = f"; unpack it and import {inner}" if inner else ""
        yield Unread(path.name, f"there is no conversations.json in it{remedy}", stopped=True)


class _Allowance:
    """How much all files of one zip may unpack to. They may overlap."""

    def __init__(self, size: int) -> None:
        self._size, self._given = size, 0

    def take(self, size: int) -> None:
        self._given += size
        if self._given > max(_FREE, RATIO * self._size):
            raise Refused(
                f"it unpacks to more than {RATIO} times its size, as only a zip bomb does; nothing more is read of it"
            )
        if self._given > TOTAL:
            raise Refused(f"it unpacks to more than {TOTAL >> 30} GB; unpack it and import the folder")


class _Counted:
    """A stream of valid UTF-8 that counts the bytes read."""

    def __init__(self, stream: IO[bytes], meter: Meter, allowance: _Allowance | None = None) -> None:
        self._stream, self._meter, self._allowance = stream, meter, allowance
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self.entry = 0  # bytes since the current entry began

    def read(self, size: int = _CHUNK) -> bytes:
        if size == 0:  # ijson tests whether the stream returns bytes or text
            return b""
        while data := self._stream.read(_CHUNK):
            self._meter.count(len(data))
            if self._allowance is not None:
                self._allowance.take(len(data))
            self.entry += len(data)
            if self.entry > ENTRY:
                raise Refused(f"a conversation in it has more than {ENTRY >> 20} MB; nothing more is read of it")
            if text := self._decode(data):
                return text.encode("utf-8")
        return self._decode(b"", True).encode("utf-8")


def _array(stream: _Counted, name: str) -> Iterator[dict[str, Any] | Unread]:
    """Yield the objects of an array. Built here because ijson's paths take quadratic time in the depth."""
    builder, depth, at_top = ijson.ObjectBuilder(), 0, True
    try:
        for event, value in ijson.basic_parse(stream, use_float=True):
            opens, closes = event in ("start_map", "start_array"), event in ("end_map", "end_array")
            depth += opens - closes
            if depth > DEPTH:
                raise Refused(f"it is nested deeper than {DEPTH} levels, as no export is; nothing more is read of it")
            if at_top and event != "start_array":
                return  # no array
            if not at_top and depth >= (1 if closes else 2):
                builder.event(event, value)
                if closes and depth == 1:
                    if isinstance(builder.value, dict):
                        yield builder.value
                    builder, stream.entry = ijson.ObjectBuilder(), 0
            at_top = False
    except (ijson.JSONError, EOFError) as error:
        yield Unread(name, f"ends early or is not valid JSON ({str(error)[:80]}); what came before was read", stopped=True)


def lines(path: Path, meter: Meter, longest: int = 0) -> Iterator[tuple[int, dict[str, Any] | Unread]]:
    """Yield the objects of a file of JSON lines with line numbers. An invalid line is yielded as Unread."""
    longest = longest or LINE
    with path.open("r", encoding="utf-8-sig", errors="replace") as stream:
        number = 0
        while line := stream.readline(longest):
            number += 1
            meter.count(len(line))
            place = f"{path.name}:{number}"
            if len(line) == longest and not line.endswith("\n"):
                _skip_line(stream, meter)
                yield number, Unread(place, f"this line is longer than {longest >> 20} MB and is not read")
            elif line.strip() and (entry := _object(line, place)) is not None:
                yield number, entry


def _skip_line(stream: IO[str], meter: Meter) -> None:
    while part := stream.readline(_CHUNK):
        meter.count(len(part))
        if part.endswith("\n"):
            return


def _object(line: str, place: str) -> dict[str, Any] | Unread | None:
    try:
        entry = json.loads(line)
    except RecursionError:
        return Unread(place, f"this line is nested deeper than {DEPTH} levels and is not read")
    except ValueError:
        return Unread(place, "this line is not valid JSON")
    if line.count("[") + line.count("{") > DEPTH and depth_exceeds(entry, DEPTH):
        return Unread(place, f"this line is nested deeper than {DEPTH} levels and is not read")
    return entry if isinstance(entry, dict) else None


def depth_exceeds(value: Any, most: int) -> bool:
    """Return whether lists and objects are nested deeper than `most` levels, checking level by level."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        inside = (inner for one in level for inner in (one.values() if isinstance(one, dict) else one))
        level = [one for one in inside if isinstance(one, dict | list)]
    return bool(level)
