"""Keeping what a person says."""
