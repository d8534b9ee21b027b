"""`python -m benchmarks.segmentation`: the figures, the JSON, the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import label_curve, segmentation

pytestmark = pytest.mark.slow

ROWS = [
    {"id": "1", "turns": ["a cat", "my cat sleeps", "a train", "the train is late"], "boundaries": [0, 1, 0, 0]},
    {"id": "2", "turns": ["soup", "more soup", "hot soup"], "boundaries": [0, 0, 0]},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "tiage_tiny.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)) + "\n\n")
    return path


def test_one_segmenter(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "out.json"
    assert segmentation.main(["--data", str(data), "--segmenter", "whole", "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    assert report["F1"] == 0
    assert report["Pk"] == report["WindowDiff"] == pytest.approx((2 / 3 + 0) / 2)
    assert report["Score"] == pytest.approx(1 / 3)
    assert report["density"] == 0
    assert report["true_density"] == pytest.approx((1 / 4 + 0) / 2)
    assert report["seconds"] >= 0
    assert report["segmenter"] == "whole"
    assert report["embedder"] == "none"
    assert report["data"] == "tiage_tiny.jsonl"
    assert "numpy" in report["versions"]
    printed = capsys.readouterr().out
    assert "SeCom, GPT-4 zero-shot (paper)" in printed
    assert "0.607" in printed


def test_one_part_of_the_rows(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    segmentation.main(["--data", str(data), "--segmenter", "whole", "--part", "odd", "--json", str(out)])
    report = json.loads(out.read_text())
    assert (report["part"], report["dialogues"], report["true_density"]) == ("odd", 1, 0)


def test_all_segmenters_without_an_embedder(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    segmentation.main(["--data", str(data), "--json", str(out)])
    assert list(json.loads(out.read_text())["segmenters"]) == list(segmentation.LOCAL)


def test_unknown_and_unmakeable_names(data: Path) -> None:
    with pytest.raises(SystemExit, match="unknown segmenter 'gpt'"):
        segmentation.main(["--data", str(data), "--segmenter", "gpt"])
    with pytest.raises(SystemExit, match="embedding needs an embedder"):
        segmentation.main(["--data", str(data), "--segmenter", "embedding"])


@pytest.mark.parametrize(
    ("name", "part", "least"), [("dialseg711_dev", slice(1, None, 2), 0.84), ("tiage_dev", slice(None), 0.51)]
)
def test_lexical_on_dialogues_it_was_not_fitted_on(name: str, part: slice, least: float) -> None:
    path = Path(__file__).parents[2] / ".." / "shared" / "data" / "segmentation" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared dialogues are not here")
    score, _ = segmentation.measure(segmentation.LOCAL["lexical"](), segmentation.read_dialogues(path)[part])
    assert score.score >= least


def test_adaptive_observes_or_is_fitted(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    segmentation.main(["--data", str(data), "--segmenter", "adaptive", "--history", str(data), "--json", str(out)])
    observed = json.loads(out.read_text())
    assert (observed["observed"], observed["dialogues"], observed["fit"]) == (4, 2, None)
    fit = ["--fit", str(data), "--labels", "1", "--seed", "3"]
    segmentation.main(["--data", str(data), "--segmenter", "adaptive", *fit, "--json", str(out)])
    fitted = json.loads(out.read_text())
    assert (fitted["labels"], fitted["dialogues"], fitted["seed"]) == (1, 1, 3)


def test_label_curve(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "curve.json"
    label_curve.main(["--data", str(data), "--fit", str(data), "--labels", "1", "--seeds", "2", "--json", str(out)])
    report = json.loads(out.read_text())
    assert [point["labels"] for point in report["curve"]] == [1]
    assert report["curve"][0]["Score_deviation"] >= 0
    assert "1 labels: Score" in capsys.readouterr().out
