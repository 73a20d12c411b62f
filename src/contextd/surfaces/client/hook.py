"""The hook of Claude Code: adds the context of a prompt, if the service runs. Failures are silent: the prompt goes on.

`python -m contextd.surfaces.client.hook` reads the event from standard input. It must be fast, so it loads little.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

_SECONDS = 1.0  # for all of it
_MOST = 1 << 20  # bytes of an event, and of an answer


def main() -> None:
    """Print the context of the prompt on standard input, in the form that Claude Code adds to the conversation."""
    end = time.monotonic() + _SECONDS
    if sys.argv[1:2] == ["--home"]:
        os.environ["CONTEXTD_HOME"] = sys.argv[2]
    try:
        event = json.loads(sys.stdin.buffer.read(_MOST))
        text = _context(event, end)
        if text:
            name = event.get("hook_event_name") or "UserPromptSubmit"
            sys.stdout.write(json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}))
            sys.stdout.flush()
    except Exception:  # noqa: S110 - a hook must never get in the way
        pass


def _context(event: dict[str, object], end: float) -> str:
    prompt, place = str(event.get("prompt") or ""), str(event.get("cwd") or Path.cwd())
    if not prompt.strip():
        return ""
    from contextd.app.serving import folder_of, running
    from contextd.settings.data_directory import home

    known = running(home())
    if known is None or not known.url.startswith("http://"):
        return ""
    token = (folder_of(home()) / "token").read_text("ascii").strip()
    body = json.dumps({"prompt": prompt[:50_000], "conversation": str(event.get("session_id") or ""), "directory": place})
    host, _, port = known.url.removeprefix("http://").rpartition(":")
    return _asked(host.strip("[]"), int(port), token, body.encode(), end)


def _asked(host: str, port: int, token: str, body: bytes, end: float) -> str:
    """Send one request over a connection of its own. `http.client` would take longer to load than the answer."""
    name = f"[{host}]" if ":" in host else host
    head = (
        f"POST /api/v1/hook HTTP/1.1\r\nHost: {name}:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"X-Contextd-Private: 0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((host, port), _left(end)) as connection:
        connection.sendall(head.encode("ascii") + body)
        data = b""
        while len(data) < _MOST:
            connection.settimeout(_left(end))
            part = connection.recv(65536)
            if not part:
                break
            data += part
    status, _, rest = data.partition(b"\r\n")
    if status.split()[1] != b"200":
        return ""
    return str(json.loads(rest.partition(b"\r\n\r\n")[2])["text"])


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


if __name__ == "__main__":
    main()
    os._exit(0)  # nothing is left to do, and nothing may delay the prompt
