"""The command ``secom``: remember, recall, look, forget and move, from a terminal or a script, with the base install.

What was asked for goes to standard output, everything else to standard error. It ends with 0, with 1 where what was
asked for could not be done (one line says why), and with 2 where the command could not be understood.
"""

from __future__ import annotations

from .entry import main

__all__ = ["main"]
