"""What README tells a new user to change, as something that can be done to a file."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def changed(code: str, framework: str) -> str:
    """The code with the diff of that framework's section done to it; five lines at most."""
    section = README.read_text(encoding="utf-8").split(f"\n## {framework}\n")[1].split("\n## ")[0]
    (diff,) = re.findall(r"^```diff\n(.*?)^```$", section, re.M | re.S)
    lines = diff.splitlines(keepends=True)
    assert 0 < sum(line[0] in "+-" for line in lines) <= 5
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert code.count(before) == 1, before
    return code.replace(before, after)
