"""How well citations are read from answers (RMM, section 8.3): ``python -m benchmarks.citations``.

Reads ``citation_answers.json``: answers in all the forms in which models cite, and what is easily taken for a citation,
in English, German and Chinese. Five memories were shown with each. Prints the precision and recall of citations, and
the share of answers whose text is right without them; with ``--wrong`` the answers that are read wrongly.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from benchmarks.evaluation.citations import LabelledAnswer, reading_of
from secom_core.citations import read_citations

SHOWN: Final = range(1, 6)
_ANSWERS: Final = Path(__file__).with_name("citation_answers.json")


def labelled_answers() -> list[LabelledAnswer]:
    """The answers, in the order of the file."""
    records = json.loads(_ANSWERS.read_text(encoding="utf-8"))
    return [LabelledAnswer(**{**each, "cited": frozenset(each["cited"])}) for each in records]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print the answers that are read wrongly")
    show_wrong = parser.parse_args().wrong
    labelled = labelled_answers()
    read = [read_citations(each.answer, SHOWN, markers="strip") for each in labelled]
    kinds = list(dict.fromkeys(each.kind for each in labelled))
    print(f"{'':10} {'answers':>8} {'precision':>10} {'recall':>8} {'F1':>8} {'text right':>11}")
    for kind in [*kinds, "all"]:
        places = [place for place, each in enumerate(labelled) if kind in (each.kind, "all")]
        found = reading_of([labelled[place] for place in places], [read[place] for place in places])
        figures = f"{found.precision:10.3f} {found.recall:8.3f} {found.f1:8.3f} {found.text_right:11.3f}"
        print(f"{kind:10} {found.answers:8} {figures}")
    for each, citations in zip(labelled, read, strict=True) if show_wrong else ():
        if (each.cited, each.none, each.text) != (frozenset(citations.numbers), citations.none_used, citations.text):
            print(f"{each.answer!r}\n  read {citations}\n  is   {sorted(each.cited)} {each.text!r}")


if __name__ == "__main__":
    main()
