"""A client of the service, with the methods and results of `Session`. Standard library only, so that it starts at once."""
