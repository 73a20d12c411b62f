"""The HTTP service: an API for programs, for every reader with a token."""
