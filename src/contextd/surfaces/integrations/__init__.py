"""Retrievers for other frameworks, one module for each: a search of the service as their documents."""
