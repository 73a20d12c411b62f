"""Measurements: quality, speed, memory, disk, secrets. `make bench` runs them; README.md has the numbers."""
