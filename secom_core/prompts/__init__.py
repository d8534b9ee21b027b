"""Prompts: one file each, with the reading of its reply beside it."""
