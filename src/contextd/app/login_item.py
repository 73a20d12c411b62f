"""The file that starts the service at login: a systemd user unit, or a launchd agent on macOS."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from contextd.settings.config import home
from contextd.settings.permissions import make_folder

_UNIT = """\
[Unit]
Description=contextd, context for AI programs

[Service]
ExecStart={command}
Environment="CONTEXTD_HOME={home}"
Restart=on-failure
RestartSec=5
Nice=5

[Install]
WantedBy=default.target
"""
_AGENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>org.contextd.service</string>
  <key>ProgramArguments</key><array>{arguments}</array>
  <key>EnvironmentVariables</key><dict><key>CONTEXTD_HOME</key><string>{home}</string></dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
"""


@dataclass(frozen=True, slots=True)
class LoginItem:
    """A file that starts the service, and the commands that switch it on and off."""

    path: Path
    text: str
    commands: tuple[str, ...]
    undo: tuple[str, ...]

    def write(self) -> None:
        """Write the file."""
        make_folder(self.path.parent)
        self.path.write_text(self.text, "utf-8")


def login_item() -> LoginItem:
    """Return the file for this platform."""
    arguments = [sys.executable, "-P", "-m", "contextd", "serve"]
    if sys.platform == "darwin":
        path = Path.home() / "Library" / "LaunchAgents" / "org.contextd.service.plist"
        listed = "".join(f"<string>{escape(one)}</string>" for one in arguments)
        text = _AGENT.format(arguments=listed, home=escape(str(home())))
        return LoginItem(path, text, (f"launchctl load {path}",), ("launchctl remove org.contextd.service",))
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    text = _UNIT.format(command=" ".join(f'"{one}"' for one in arguments), home=home())
    return LoginItem(
        base / "systemd" / "user" / "contextd.service",
        text,
        ("systemctl --user enable --now contextd",),
        ("systemctl --user disable --now contextd", "systemctl --user daemon-reload"),
    )
