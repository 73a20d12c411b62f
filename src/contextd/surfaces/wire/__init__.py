"""Requests and answers of every surface as plain dataclasses, and their JSON: one definition of each shape."""
