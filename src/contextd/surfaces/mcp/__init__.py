"""The Model Context Protocol surface: tools an agent calls."""
