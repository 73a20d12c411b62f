"""Answers by facets: several questions made of one, each with its share of the answer."""
