"""Plazmaz/leaky-repo: how many of its 96 risky lines are kept out of an index, commits included."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.sources.filetypes import never_read
from tests.conftest import Run
from tests.faults.test_sweeps import keep
from tests.stored import stored

REPOSITORY = Path(os.environ.get("CONTEXTD_BENCH_REPOS", "../repos")) / "leaky-repo"
# The values of risky lines, in files that are read; about four lines that the list counts are not there.
VALUES = {
    ".bash_profile": r"(?:AWS_SECRET_ACCESS_KEY|RDS_PASSWORD|HEROKU_API_KEY|GITHUB_API_TOKEN|SLACK_API_TOKEN|MLAB_PASS)='?([^'$\n]+)",
    ".bashrc": r"(?:GMAIL_PASSWORD|MAILCHIMP_API_KEY|GITHUB_TOKEN)=\"([^\"]+)",
    "cloud/heroku.json": r"API_KEY\": \"([^\"]+)",
    "db/dump.sql": r"'(\$2y\$[^']+)'",
    "db/mongoid.yml": r"://\w+:(\w+)@",
    "proftpdpasswd": r"root:([^:]+):",
    "web/ruby/secrets.yml": r"secret_key_base: (\w{64,})",
    ".npmrc": r"(?:_auth = |_authToken=)(\S+)",
    "web/var/www/public_html/wp-config.php": r"(?:KEY|SALT|PASSWORD)', +'([^\n]+)'",
    "web/js/salesforce.js": r"'(salesforcepassword)'",
    "hub": r"oauth_token: \"(\w+)",
    "config": r"IRC_PASS=(\S+)",
    "ventrilo_srv.ini": r"Password=(\S+)",
    "web/var/www/public_html/config.php": r"dbpasswd = '([^']+)",
    "web/django/settings.py": r"SECRET_KEY = '([^\n]+)'",
    "deployment-config.json": r"password\": \"([^\"]+)",
}


@pytest.mark.campaign
@pytest.mark.skipif(not REPOSITORY.is_dir(), reason="needs leaky-repo below CONTEXTD_BENCH_REPOS")
def test_S1_I12_leaky_repo_keeps_its_secrets(home: Path, contextd: Callable[..., Run]) -> None:
    assert contextd("index", "-p", str(REPOSITORY)).code == 0
    everything = stored(home)
    listed = [row for row in csv.reader((REPOSITORY / ".leaky-meta/secrets.csv").read_text().splitlines()) if len(row) == 3]
    risky = {name: int(count) for name, count, _ in listed if not name.startswith("#") and int(count)}
    kept, missed = 0, []
    for name, count in risky.items():
        if never_read(name):
            kept += count
            continue
        values = re.findall(VALUES[name], (REPOSITORY / name).read_text())
        out = [value for value in values if value.encode() not in everything]
        missed += [f"{name}: {value[:20]}" for value in values if value not in out]
        kept += min(len(out), count)
    keep("leaky-repo, risky lines kept out of the index", kept=kept, of=sum(risky.values()), missed=len(missed))
    assert kept >= 85, missed
