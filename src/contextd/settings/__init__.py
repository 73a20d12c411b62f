"""Settings, their defaults and files, and the limits on what a caller may ask."""
