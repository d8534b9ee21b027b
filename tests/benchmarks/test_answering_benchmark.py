"""Question answering and TeaFarm end to end over HTTP, against the scripted server, on the data that ships."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai", reason="the client speaks HTTP")

from benchmarks import answering, teafarm
from benchmarks.evaluation.teafarm import Episode
from secom_core.errors import DegradedWarning
from secom_core.testing import Answer, Fault, ScriptedRequest, ScriptedServer

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "examples" / "data"


def memory_of(text: str) -> str:
    return text.rpartition("<memory>\n")[2].partition("\n</memory>")[0]


def reply(request: ScriptedRequest) -> str:
    """A model that copies: a word of the memories for an answer, a line of the session for a summary, a timeline."""
    text = request.text
    if "[[correct]]" in text:
        return "Hm. [[correct]]" if "<answer>\nunknown" not in text else "[[incorrect]]"
    if "Write the memory anew" in text:
        old, session = memory_of(text), text.rpartition("<session")[2].splitlines()
        lines = [] if old == "none" else old.splitlines()
        return "<memory>\n" + "\n".join([*lines, session[2]][-20:]) + "\n</memory>"
    if "Question:" in text:
        return "matt quartz in fog grey" if "quartz" in text else "unknown"
    if "<timeline>" in text:
        return text.rpartition("<timeline>\n")[2].partition("\n</timeline>")[0]
    return "I cannot say."


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as running:
        yield running


def arguments(server: ScriptedServer, out: Path, memory: str) -> list[str]:
    where = ["--data", str(DATA), "--base-url", server.base_url, "--out", str(out)]
    return [*where, "--model", "m", "--memory", memory, "--quiet", "--retries", "0", "--timeout", "2"]


def ask(server: ScriptedServer, out: Path, *more: str, memory: str = "ours") -> None:
    answering.main([*arguments(server, out, memory), *more])


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


OF_ONE_CALL = ("ours", "turn", "segment", "session", "summary", "rsum", "memorybank-turns-kept", "full", "last", "none")


@pytest.mark.parametrize("memory", OF_ONE_CALL)
def test_every_memory_answers(server, tmp_path, capsys, memory) -> None:
    out, figures = tmp_path / "a.jsonl", tmp_path / "a.json"
    more = ("--questions", "2", "--judge", "j", "--price-in", "2", "--price-out", "8", "--json", str(figures))
    ask(server, out, *more, memory=memory)
    settings, *found = lines(out)
    assert settings["settings"]["memory"] == memory
    answers = [line for line in found if "question" in line]
    assert {(line["conversation"], line["number"]) for line in answers} == {
        (n, p) for n in ("mara", "lin") for p in (0, 1)
    }
    first = answers[0]
    assert first["question"] == "Which worktop did I end up with?"
    sees_it = any("quartz" in request.text for request in server.requests if request.body["model"] == "m")
    if memory in ("none", "ours", "summary", "rsum", "full"):
        assert sees_it == (memory != "none")
    if memory in ("ours", "full"):
        assert first["answer"] == "matt quartz in fog grey"
        assert first["f1"] > 0.5
        assert first["correct"] is True
    if memory == "none":
        assert first["context_tokens"] == 0
    elif memory != "full":
        assert 0 < first["context_tokens"] <= 2000
    result = json.loads(figures.read_text(encoding="utf-8"))
    assert result["questions"] == 4
    assert result["answering"]["calls"] == 4, "the judge's calls are not the model's"
    assert result["answering"]["price"] > 0
    summaries = 8 + 3 if memory in ("summary", "rsum") else 0
    assert result["taking_in"]["calls"] == summaries, "one a session"
    assert result["taking_in"]["sessions"] == 11
    assert "shipped" in capsys.readouterr().out


def test_secom_has_its_segments_from_the_model(server, tmp_path) -> None:
    out = tmp_path / "a.jsonl"
    with pytest.warns(DegradedWarning, match="segment"):  # which the scripted model does not make
        ask(server, out, "--questions", "1", memory="secom")
    (taken,) = {line["calls"] > 0 for line in lines(out) if "taken_in" in line}
    assert taken, "the model is asked for the segmentation of sessions"
    assert len([line for line in lines(out) if "question" in line]) == 2


def test_memochat_answers_from_what_the_model_chooses(tmp_path) -> None:
    def replied(request: ScriptedRequest) -> str:
        if "numbered lines" in request.text:
            count = int(re.search(r"has (\d+) numbered", request.text)[1])  # type: ignore[index]
            return f'<memo>[{{"topic": "home", "summary": "A talk.", "start": 1, "end": {count}}}]</memo>'
        return "1#2" if "numbered options" in request.text else reply(request)

    out = tmp_path / "a.jsonl"
    with ScriptedServer(replied) as server:
        ask(server, out, "--questions", "1", memory="memochat")
    answers = [line for line in lines(out) if "question" in line]
    assert [line["calls"] for line in answers] == [2, 2], "one to choose, one to answer"
    assert all(line["context_tokens"] > 0 for line in answers)


def test_weights_are_those_of_the_fold(server, tmp_path, monkeypatch) -> None:
    used = []
    opened = answering.MemoryBank.open
    monkeypatch.setattr(
        answering.MemoryBank, "open", lambda *args, **given: used.append(given["weights"]) or opened(*args, **given)
    )
    folds = {name: {"segment_lexical": place} for place, name in enumerate(("mara", "lin"), 1)}
    (tmp_path / "weights.json").write_text(json.dumps({"folds": folds}), encoding="utf-8")
    ask(server, tmp_path / "a.jsonl", "--questions", "1", "--weights", str(tmp_path / "weights.json"))
    assert used == list(folds.values())


def test_theanine_answers(server, tmp_path) -> None:
    out = tmp_path / "a.jsonl"
    with pytest.warns(DegradedWarning, match="event"):  # of which the scripted model has nothing to say
        ask(server, out, "--questions", "1", memory="theanine")
    assert len([line for line in lines(out) if "question" in line]) == 2


def test_a_run_goes_on_where_it_stopped(tmp_path) -> None:
    out = tmp_path / "a.jsonl"
    broken = iter([*["one"] * 3, Fault(status=500), Fault(delay=9), Answer(""), *["two"] * 99])
    with ScriptedServer(lambda request: next(broken)) as server:
        with pytest.raises(SystemExit, match="3 questions have no answer"):
            ask(server, out, "--questions", "4", "--timeout", "0.5")
        assert len([line for line in lines(out) if "question" in line]) == 4
        # A process that is killed while it writes leaves half a line.
        out.write_text(out.read_text(encoding="utf-8") + '{"conversation": "ma', encoding="utf-8")
        asked = len(server.requests)
        ask(server, out, "--questions", "4")
        assert len(server.requests) == asked + 3, "only what had no answer is asked"
        found = [line for line in lines(out) if "question" in line]
        assert len({(line["conversation"], line["number"]) for line in found}) == len(found) == 7
        assert sorted({line["answer"] for line in found}) == ["one", "two"]
        asked = len(server.requests)
        ask(server, out, "--questions", "4")
        assert len(server.requests) == asked
        with pytest.raises(SystemExit, match="choose another --out"):
            ask(server, out, "--questions", "4", "--budget", "500")


def test_summaries_are_not_paid_for_twice(server, tmp_path) -> None:
    out = tmp_path / "a.jsonl"
    ask(server, out, "--questions", "1", memory="rsum")
    kept = [line for line in lines(out) if "question" not in line]
    out.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    asked = len(server.requests)
    ask(server, out, "--questions", "1", memory="rsum")
    assert len(server.requests) == asked + 2, "two questions, and no session again"


def test_locomo_files_are_read_too(server, tmp_path) -> None:
    talk = [
        {"speaker": s, "dia_id": f"D1:{n}", "text": t}
        for n, (s, t) in enumerate([("Ann", "Quartz."), ("Bob", "Ok.")], 1)
    ]
    qa = [{"question": "Is it quartz?", "answer": "quartz", "evidence": ["D1:1"], "category": 4}]
    file = {"session_1": talk, "session_1_date_time": "1:00 pm on 1 May, 2023", "qa": qa}
    (tmp_path / "x.json").write_text(json.dumps(file), encoding="utf-8")
    out = tmp_path / "out" / "a.jsonl"
    answering.main(
        ["--data", str(tmp_path), "--model", "m", "--base-url", server.base_url, "--out", str(out), "--quiet"]
    )
    (line,) = [line for line in lines(out) if "question" in line]
    assert line["category"] == "single-hop"
    assert line["f1"] > 0
    assert "It is Tuesday, 2023-05-02." in server.requests[-1].text


def test_the_whole_conversation_is_cut_at_its_beginning() -> None:
    mara = answering.read_example(DATA, "mara")
    shown = answering.whole(mara.sessions, 500)
    assert mara.sessions[-1].turns[-1].text in shown
    assert mara.sessions[0].turns[0].text not in shown
    assert mara.sessions[0].turns[0].text in answering.whole(mara.sessions, 100_000)


# -- TeaFarm -----------------------------------------------------------------------------------------------------------


def farmer(request: ScriptedRequest) -> str | Answer | Fault:
    text = request.text
    if "Summarise this session" in text:
        return "The user renovates a kitchen."
    if "counterfactual" in text:
        names = re.findall(r'"speaker": ("[^"]+")', text)
        row = '{{"speaker": {}, "question": "How is the oak worktop of {}?", "answer": "It is quartz."}}'
        return "\n".join(row.format(name, name.strip('"')) for name in names)
    if "meet again" in text:
        asker, question = text.rpartition("<last_utterance>\n")[2].partition("\n")[0].split(": ", 1)
        other = {"user": "assistant", "assistant": "user"}[asker]
        return "\n".join([*(f"{(other, asker)[n % 2]}: So, {n}." for n in range(11)), f"{asker}: {question}"])
    if "[[correct]]" in text:
        return "[[correct]]" if "quartz" in text.rpartition("<answer>")[2] else "It was fooled. [[incorrect]]"
    if "You are user in" in text:
        return "It has been oiled."
    return "You took quartz."


def farm(server: ScriptedServer, out: Path, memory: str = "ours") -> None:
    teafarm.main(arguments(server, out, memory))


def test_teafarm_from_the_sessions_to_the_verdicts(tmp_path, capsys) -> None:
    with ScriptedServer(farmer) as server:
        farm(server, tmp_path)
        assert "ours: success rate 0.500 of 4 questions" in capsys.readouterr().out
        first = len(server.requests)
        assert first == (8 + 1 + 2) + (3 + 1 + 2) + 2 * (2 + 2), "a call a session, and so on"
        farm(server, tmp_path)
        assert len(server.requests) == first, "nothing is asked twice"
        farm(server, tmp_path, "none")
        assert len(server.requests) == first + 8, "the same episodes serve another memory"
    bag = lines(tmp_path / "teabag.jsonl")[1:]
    assert [episode["name"] for episode in bag] == ["mara", "lin"]
    assert len(bag[0]["sessions"]) == len(bag[0]["summaries"]) == 8
    assert bag[0]["sessions"][0][0]["speaker"] == "user"
    for episode in map(Episode.from_json, bag):
        assert [each.speaker for each in episode.follow_ups] == list(episode.speakers)
        assert all(each.dialogue[-1][1] == each.question for each in episode.follow_ups)
    verdicts = lines(tmp_path / "verdicts-ours.jsonl")[1:]
    assert [line["correct"] for line in verdicts] == [True, False] * 2
    assert {"episode", "number", "question", "reference", "response", "correct"} == set(verdicts[0])


def test_teafarm_goes_on_after_faults(tmp_path) -> None:
    state = {"down": True}

    def reply(request: ScriptedRequest) -> str | Answer | Fault:
        if state["down"] and ("搬家" in request.text or "<answer>\nYou took" in request.text):
            return Fault(status=500)
        return farmer(request)

    with ScriptedServer(reply) as server:
        with pytest.raises(SystemExit, match="run the command again"):
            farm(server, tmp_path)
        assert [line["name"] for line in lines(tmp_path / "teabag.jsonl")[1:]] == ["mara"]
        assert [line["number"] for line in lines(tmp_path / "verdicts-ours.jsonl")[1:]] == [1]
        state["down"] = False
        farm(server, tmp_path)
    assert len(lines(tmp_path / "teabag.jsonl")) == 3
    assert len(lines(tmp_path / "verdicts-ours.jsonl")) == 5


def test_teafarm_takes_episodes_that_were_written_before(tmp_path, capsys) -> None:
    def reply(request: ScriptedRequest) -> str:
        if "[[correct]]" not in request.text:
            return "You left the firm." if "registrar" in request.text else "I cannot say."
        answer = request.text.partition("<answer>")[2]
        return "[[correct]]" if "You left" in answer else "[[incorrect]]" if "Halden" in request.text else "Hm."

    bag = Path(teafarm.__file__).parent / "teabag" / "mara.jsonl"
    with ScriptedServer(reply) as server:
        teafarm.main([*arguments(server, tmp_path, "ours"), "--episodes", str(bag)])
        prompts = [request.prompt for request in server.requests if "[[correct]]" not in request.prompt]
        assert len(prompts) == 10
        assert all(text.endswith("\n\nassistant:") and "\n</conversation>" in text for text in prompts)
        other = tmp_path / "other.jsonl"
        other.write_text(bag.read_text(encoding="utf-8").replace('"mara"', '"nobody"'), encoding="utf-8")
        with pytest.raises(SystemExit, match="has episodes of nobody, and --data has none of these conversations"):
            teafarm.main([*arguments(server, tmp_path / "x", "ours"), "--episodes", str(other)])
    said = capsys.readouterr().out
    assert "the judgement cannot be read" in said
    verdicts = [line["correct"] for line in lines(tmp_path / "verdicts-ours.jsonl")[1:]]
    assert True in verdicts
    assert None in verdicts
    assert f"of {10 - verdicts.count(None)} questions" in said


@pytest.mark.parametrize("name", ["mara", "lin"])
def test_our_own_episodes_are_of_our_own_conversations(name: str) -> None:
    chats = {chat.name: chat for chat in answering.chats_in(DATA)}
    [episode] = teafarm.given(Path(teafarm.__file__).parent / "teabag" / f"{name}.jsonl", list(chats.values()))
    assert len(episode.summaries) == len(chats[name].sessions)
    for each in episode.follow_ups:
        assert each.dialogue[-1] == (each.speaker, each.question)
        assert [who for who, _ in each.dialogue] == ["user", "assistant"] * (len(each.dialogue) // 2) + ["user"]
        assert each.answer not in each.text


def test_examples_are_of_conversations_with_replies(server, tmp_path) -> None:
    with pytest.raises(SystemExit, match="--examples takes conversations that ask for replies"):
        ask(server, tmp_path / "a.jsonl", "--examples", "1")


def test_a_session_is_carried_on_from_the_memories_of_those_before(tmp_path) -> None:
    line = {
        "metadata": {"initial_data_id": "one"},
        "personas": [["I sail."], ["I bake."]],
        "previous_dialogs": [{"dialog": [{"text": "I sail the Petrel."}, {"text": "I bake rye bread."}]}],
        "dialog": [
            {"id": "Speaker 1", "text": "Back from sea."},
            {"id": "Speaker 2", "text": "How was the Petrel?"},
            {"id": "Speaker 1", "text": "Wet. And the bread?"},
            {"id": "Speaker 2", "text": "Still warm."},
        ],
    }
    data, out = tmp_path / "test.txt", tmp_path / "a.jsonl"
    data.write_text(json.dumps(line) + "\n" + json.dumps(line) + "\n", encoding="utf-8")
    with ScriptedServer("The rye bread is still warm.") as server:
        where = ["--data", str(data), "--base-url", server.base_url, "--out", str(out), "--model", "m"]
        answering.main([*where, "--memory", "turn", "--quiet", "--conversations", "1"])
    answers = [line for line in lines(out) if "question" in line]
    assert [(each["category"], each["reference"]) for each in answers] == [
        ("session 2", "How was the Petrel?"), ("session 2", "Still warm."),
    ]  # fmt: skip
    second = server.requests[-1].text
    assert "I bake rye bread." in second, "from the memory"
    assert "Speaker 1: Wet. And the bread?" in second, "the session so far"
    assert "Still warm." not in second, "what is asked for is not shown"
    assert answers[1]["f1"] > 0.4
