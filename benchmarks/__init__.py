"""Measurements: quality, speed, memory, disk, secrets. `make bench` runs them; README.md has the numbers."""

import os

os.environ.setdefault("CONTEXTD_CACHE__ENABLED", "false")  # a question that is asked twice is computed twice
