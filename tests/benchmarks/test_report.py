"""The page of results says what the results say."""

from __future__ import annotations

import pytest

from benchmarks import report

pytestmark = pytest.mark.slow


def test_the_page_is_what_the_results_make():
    assert report.README.read_text(encoding="utf-8") == report.page(), "run python -m benchmarks.report"


def test_every_result_names_the_versions_that_it_was_measured_with():
    undated = [path.name for path in report.README.parent.glob("results/*.json") if "versions" not in path.read_text()]
    assert undated == []
