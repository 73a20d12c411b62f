"""Settings, their defaults and files, and the limits on requests."""
