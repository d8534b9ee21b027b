"""Asking a language model: procedures that yield prompts, second questions, windows, quoting, reading replies."""
