"""False finds of the scrubber: every find in five repositories of the code benchmark, with its line, for a person's verdict.

`python -m benchmarks.secrets` prints the finds and their number per 5,000 lines.
"""

from __future__ import annotations

from benchmarks.data import REPOS
from contextd.parsing import decode
from contextd.ports import FileState
from contextd.scrub import scrub
from contextd.sources.files import Boundaries, Files
from contextd.sources.filetypes import language_by_content

NAMES = ("flask", "express", "gin", "gson", "monolog")


def main() -> None:
    for name in NAMES:
        files = Files(REPOS / name, Boundaries())
        lines, finds = 0, []
        for state in files.scan():
            read = files.read(state.uri) if isinstance(state, FileState) else None
            if not isinstance(read, tuple):
                continue
            data = decode(read[0])[0].encode()
            lines += data.count(b"\n")
            rows = data.split(b"\n")
            finds += [
                (state.uri, find, rows[find.line - 1].decode())
                for find in scrub(data, language_by_content(state.uri, read[0]))[1]
            ]
        print(f"{name}: {lines} lines, {len(finds)} finds, {5000 * len(finds) / lines:.2f} per 5,000 lines")
        for uri, find, row in finds:
            print(f"  {uri}:{find.line} [{find.rule}] {row.strip()[:110]}")


if __name__ == "__main__":
    main()
