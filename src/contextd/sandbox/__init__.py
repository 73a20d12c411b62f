"""Isolated processes in which parsers run, and their driver."""
