"""Isolated processes in which parsers and local language models run, and their drivers."""
