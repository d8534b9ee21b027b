"""What a table of a paper is: what it takes, which of our benchmarks computes it, the paper's rows, and its state here.

A table's rows are named as in `benchmarks.papers.published`; ``{retriever}`` in a name is BM25, or dense with an
embedder, as the papers give a row for each. Figures without numbers in the paper's text have no rows of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from .published import Row, rows_in

State = Literal["run", "ready", "not here"]
JUDGED: Final = "a model, and one that judges"
UNITS: Final = {"turns": "turn", "segments": "segment", "sessions": "session"}


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper.

    Args:
        paper: SeCom, RSum, Theanine or RMM.
        number: as the paper counts it.
        title: what it measures.
        runner: the function of `benchmarks.papers.runs` that computes a row; empty where nothing does.
        columns: of the table, by the names of the measures.
        rows: by label, what is run: a memory's name, with the number of examples after it where replies learn from
            some, or what the runner calls it.
        data: the data sets of the paper, as `benchmarks.datasets` calls them.
        needs: ``"nothing"``, ``"a model"``, or ``"a model, and one that judges"``.
        state: ``run`` here, ``ready`` to run and not run here, or ``not here``.
        about: the sample and the file of a run, or why there is none.
        differs: how our definitions differ from the paper's.
        published: the paper's rows by data set; ``""`` where it is one table for all.
        budget: the tokens of the memories, where the paper has a number.
        budgets: the same for data sets on which it has another one.
        versus: what the rows are compared with, where two are compared.
    """

    paper: str
    number: str
    title: str
    runner: str = ""
    columns: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    needs: str = "a model"
    state: State = "ready"
    about: str = ""
    differs: str = ""
    published: Mapping[str, str] = field(default_factory=dict)
    budget: int = 2000
    budgets: Mapping[str, int] = field(default_factory=dict)
    versus: str = ""

    def budget_on(self, data: str) -> int:
        """The paper's budget on a data set."""
        return self.budgets.get(data, self.budget)

    def papers_rows(self, data: str) -> dict[str, Row]:
        """The paper's rows on a data set; none where it has none on it."""
        text = self.published.get(data) or self.published.get("")
        return rows_in(text, self.columns) if text else {}
