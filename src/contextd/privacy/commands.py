"""Find passwords on command lines: `mysql -p…`, `curl -u name:…`, `["redis-cli", "-a", "…"]`.

A table lists how each program takes a password. Only the rest of the line or of the argument list is read, up to a limit, so
the time is linear. Options named after a password (`--password …`) are found by `places`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextd.privacy.linear import linear
from contextd.privacy.literals import Place

_GLUED, _SPACED = "{}[\"']?", "{}(?:[\"'][ \\t]*,\\s*[\"']|[ \\t=]+[\"']?)"
_PAIR = r"[\w.@\\-]{1,64}[:%,]"  # user and separator before a password
# How programs take a password: after an option, with or without a space, or after other arguments.
_TAKES = {
    "mysql mysqldump mysqladmin mysqlimport mysqlcheck mariadb 7z 7za rar unrar": [_GLUED.format("-p")],
    "mongo mongosh mongodump mongorestore docker podman az oc cf twine cqlsh sshpass psexec": [_SPACED.format("-p"), _GLUED.format("-p")],
    "rdesktop xfreerdp cmdkey": [_SPACED.format("-p"), "/p(?:ass)?:"],
    "redis-cli": [_SPACED.format("-a")],
    "ldapsearch ldapmodify ldapadd ldappasswd ldapwhoami": [_SPACED.format("-w")],
    "sqlcmd osql bcp tsql isql mosquitto_pub mosquitto_sub ipmitool zip unzip": [_SPACED.format("-P"), _GLUED.format("-P")],
    "plink pscp psftp": [_SPACED.format("-pw")],
    "snmpwalk snmpget": [_SPACED.format("-[AX]")],
    "ssh-keygen": [_SPACED.format("-[NP]")],
    "openssl": [_SPACED.format("-k"), _SPACED.format("-pass(?:in|out)?") + "pass:"],
    "curl wget http https": [_SPACED.format("(?:-u|-a|--user|--auth|--proxy-user)") + _PAIR, _GLUED.format("-u") + _PAIR],
    "smbclient rpcclient lftp": [_SPACED.format("(?:-U|-u|--user)") + _PAIR],
    "gh glab": [r"secret\s+set\s+\S{1,64}\s[^\n]{0,80}?" + _SPACED.format("(?:--body|-b|--value|-v)")],
    "htpasswd": [r"-\w{0,4}b\w{0,4}\s+\S{1,120}\s+\S{1,64}\s+[\"']?"],
    "rabbitmqctl": [r"(?:add_user|change_password)\s+\S{1,64}\s+[\"']?"],
    "net": [r"user\s+[\w.]{1,64}\s+[\"']?", r"use\s[^\n]{0,120}?/user:\S{1,64}\s+[\"']?"],
}  # fmt: skip
_VALUE = r"([^\s\"'$%/|<>-][^\s\"'$|<>]{3,127}|(?<=[:%,])[^\s\"'$][^\s\"'$]{3,127})"
_OPTIONS = {
    name: re.compile(rf"(?:^|[\s\"'])(?:{'|'.join(ways)}|--pass(?:word)?[= ][\"']?){_VALUE}".encode())
    for names, ways in _TAKES.items()
    for name in names.split()
}
_COMMAND = linear(
    r"(?m)(?:^|[\s\"'`;&|(/@])(?:"
    + "|".join(sorted(map(re.escape, _OPTIONS), key=len, reverse=True))
    + r")(?:\.exe)?(?:[ \t]|[\"'][ \t]*,)"
)
_NAME = re.compile(r"[\w-]+")
_LINE_END = re.compile(rb"(?<!\\)\r?\n")
_LIST_END = re.compile(rb"[\])]")
_LONGEST_COMMAND = 300
_MOST_COMMANDS = 4  # per line


def given(data: bytes) -> Iterator[Place]:
    """Yield the passwords on command lines and in argument lists."""
    reached, several = 0, 0
    for match in _COMMAND.finditer(data):
        several = several + 1 if match.start() < reached else 0
        if several >= _MOST_COMMANDS:
            continue
        text = match.group().decode()
        name = _NAME.search(text)
        end = (_LIST_END if text.endswith(",") else _LINE_END).search(data, match.end(), match.end() + _LONGEST_COMMAND)
        reached = end.start() if end else min(len(data), match.end() + _LONGEST_COMMAND)
        for option in _OPTIONS[name.group()].finditer(data, match.end() - 1, reached) if name else ():
            value = option.group(1)
            if not (value.isdigit() and len(value) <= 5):  # a port number
                yield Place("password", *option.span(1), literal=False)
