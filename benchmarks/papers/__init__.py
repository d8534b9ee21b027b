"""The tables of the four papers, by one command: ``python -m benchmarks.papers --list``."""
