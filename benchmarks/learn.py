"""Everything that was learned or fitted, made again by one command: `python -m benchmarks.learn [NAME …]`.

`benchmarks/learned.json` says of each: the files or constants, the command, the data, when it was made and how well it does on
what it was not made from. Files are written in place, and their hashes noted; constants are printed, to be put into the code
by hand. Without names, all of them are listed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).parent / "learned.json"
PACKAGE = ROOT / "src/contextd"


def table() -> dict[str, dict[str, Any]]:
    """What was learned, by name."""
    found: dict[str, dict[str, Any]] = json.loads(TABLE.read_text("utf-8"))
    return found


def digest(file: str) -> str:
    """The hash of a file of the package."""
    return hashlib.sha256((PACKAGE / file).read_bytes()).hexdigest()


def make(name: str) -> None:
    """Run the command of one, and note the files it wrote."""
    known = table()
    entry = known[name]
    if not entry["command"]:
        raise SystemExit(f"{name} was written by hand: {entry['data']}")
    subprocess.run([sys.executable, "-m", *entry["command"].split()], check=True, cwd=ROOT)
    written = {file: digest(file) for file in entry["files"]}
    if written != entry["files"]:
        entry |= {"files": written, "made": datetime.now(UTC).date().isoformat()}
        TABLE.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    """List all of them, or make some again."""
    for name in sys.argv[1:]:
        make(name)
    if not sys.argv[1:]:
        for name, entry in table().items():
            what = ", ".join([*entry["files"], *entry["constants"]])
            print(f"{name}\n  {what}\n  {entry['command'] or 'by hand'}; {entry['data']}; {entry['made']}; {entry['score']}")


if __name__ == "__main__":
    main()
