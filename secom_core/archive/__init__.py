"""Scopes on their way: exports, moves into another database, copies of a file, and what is left of a damaged one."""
