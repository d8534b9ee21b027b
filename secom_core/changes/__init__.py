"""What people say of the same thing later: that it changed, was corrected, ended, or is still so."""

from __future__ import annotations

from .linking import Link, links_of
from .records import Change
from .statements import Statement, statements_of

__all__ = ["Change", "Link", "Statement", "links_of", "statements_of"]
