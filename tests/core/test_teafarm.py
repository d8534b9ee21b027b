"""TeaFarm: questions about what never was, from the sessions to the verdict (Theanine section 5)."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.evaluation.teafarm import Episode, FollowUp, Verdict, farmed, questioned, speakers_of, success_rate
from benchmarks.evaluation.teafarm_prompt import read_follow_up, read_questions
from secom_core.conversation import Message, Session, group_messages
from secom_core.errors import BadReply, InvalidInput
from secom_core.llm.flow import arun, run
from secom_core.testing import Answer, ScriptedModel

NAMES = ("Ann", "Bob")
TALK = [
    ["Ann: I sold my car in May.", "Bob: Good. I started with the cello.", "Ann: How brave!", "Bob: It squeaks."],
    ["Bob: I gave the cello up.", "Ann: A pity. I ride a bicycle now."],
]
QUESTIONS = """Here they are:
{"speaker": "Ann", "question": "Ann: Which piece do you play on the cello now?", "answer": "None, Bob gave it up."}
{"speaker": "bob", "question": "Can you take me along in your car?", "answer": "No, Ann sold the car."}"""
PLAYED, DRIVEN = "Which piece do you play on the cello now?", "Can you take me along in your car?"


def sessions() -> list[Session]:
    found = []
    for number, lines in enumerate(TALK, start=1):
        said = [Message(line.split(": ")[1], role="", speaker=line.split(": ")[0]) for line in lines]
        found.append(Session(f"s{number}", group_messages(said, f"s{number}")))
    return found


def follow_up(asker: str, question: str, count: int = 12) -> str:
    other = NAMES[asker == "Ann"]
    lines = [f"{(asker, other)[(count - 1 - n) % 2]}: Line number {n}." for n in range(count - 1)]
    return "\n".join(["Sure!", *lines, f"{asker}: {question}"])


def script(**changes):
    rules = {
        "Summarise this session": "They talked.",
        "counterfactual": QUESTIONS,
        f"Ann: {PLAYED}": follow_up("Ann", PLAYED),
        f"Bob: {DRIVEN}": follow_up("Bob", DRIVEN),
    }
    return {**rules, **changes}


@pytest.mark.parametrize("drive", [run, lambda procedure, model: asyncio.run(arun(procedure, model))])
def test_a_conversation_becomes_a_test(drive) -> None:
    model = ScriptedModel(script())
    episode = drive(farmed("one", sessions()), model)
    assert [request.purpose for request in model.requests] == ["digest", "digest", "question", "follow-up", "follow-up"]
    assert "Session 2: They talked." in model.requests[2].text, "the summaries, in order"
    assert all("I gave the cello up." in request.text for request in model.requests[3:]), "the last session"
    assert episode.summaries == ("They talked.",) * 2
    assert [each.question for each in episode.follow_ups] == [PLAYED, DRIVEN], "names in front are taken off"
    assert [each.speaker for each in episode.follow_ups] == ["Ann", "Bob"]
    for each in episode.follow_ups:
        assert 10 <= len(each.dialogue) <= 15
        assert each.dialogue[-1] == (each.speaker, each.question)


def test_an_episode_goes_through_json() -> None:
    episode = run(farmed("one", sessions()), ScriptedModel(script()))
    assert Episode.from_json(json.loads(json.dumps(episode.as_json()))) == episode
    for wrong in ({}, {"name": "x", "speakers": ["a"], "summaries": [], "follow_ups": []}):
        with pytest.raises(InvalidInput, match="no TeaFarm episode"):
            Episode.from_json(wrong)


def test_bad_replies_are_asked_for_once_more() -> None:
    model = ScriptedModel(
        {
            "could not be used: there is no JSON object": QUESTIONS,
            "could not be used: the conversation has": follow_up("Ann", PLAYED),
            "could not be used: ": "They talked.",
            "Summarise this session": [Answer(""), "They talked."],
            "counterfactual": "Which questions?",
            f"Ann: {PLAYED}": follow_up("Ann", PLAYED, 4),
            f"Bob: {DRIVEN}": follow_up("Bob", DRIVEN),
        }
    )
    episode = run(farmed("one", sessions()), model)
    assert episode == run(farmed("one", sessions()), ScriptedModel(script()))
    assert len(model.requests) == 8
    with pytest.raises(BadReply, match="no JSON object with a question by Ann"):
        run(farmed("one", sessions()), ScriptedModel(script(counterfactual="Which?")))


@pytest.mark.parametrize(
    "reply",
    [
        QUESTIONS.replace('"bob"', '"Ann"'),
        QUESTIONS.replace("Can you take me along in your car?", " "),
        QUESTIONS.replace('"answer": "No, Ann sold the car."', '"reply": 1'),
        '{"speaker": "Ann", }',
        "",
    ],
)
def test_questions_are_checked(reply) -> None:
    with pytest.raises(BadReply):
        read_questions(reply, NAMES)


def test_the_question_ends_the_follow_up_whoever_was_made_to_say_it() -> None:
    read = read_follow_up(
        follow_up("Ann", PLAYED).replace(f"Ann: {PLAYED}", f"Bob: {PLAYED.upper()}"), NAMES, "Ann", PLAYED
    )
    assert read[-1] == ("Ann", PLAYED)
    assert [said for _, said in read].count(PLAYED) == 1
    read = read_follow_up(follow_up("Ann", "Something else?", 12), NAMES, "Ann", PLAYED)
    assert read[-2:] == [("Ann", "Something else?"), ("Ann", PLAYED)], "what is missing is put there"
    bold = "\n".join(f"**{name}:** Hello {n}." for n in range(5) for name in ("Bob", "ann"))
    assert len(read_follow_up(bold, NAMES, "Ann", PLAYED)) == 11
    for wrong in (follow_up("Ann", PLAYED, 5), follow_up("Ann", PLAYED, 30), "Ann: Hm.\n" * 11, ""):
        with pytest.raises(BadReply):
            read_follow_up(wrong, NAMES, "Ann", PLAYED)


def test_an_answer_is_judged_in_its_context() -> None:
    asked = FollowUp("Ann", PLAYED, "None, he gave it up.", (("Bob", "Hello."), ("Ann", PLAYED)))
    model = ScriptedModel({"<answer>\nI stopped": "[[correct]]", "": "[[incorrect]]"})
    right, wrong = (run(questioned(asked, said), model) for said in ("I stopped.", "A sonata!"))
    assert (right.correct, wrong.correct) == (True, False)
    assert asked.text in model.requests[0].text
    assert right == Verdict(PLAYED, "None, he gave it up.", "I stopped.", True)
    assert success_rate([right, wrong]) == 0.5
    with pytest.raises(InvalidInput, match="no verdict"):
        success_rate([])


def test_two_speakers_are_needed() -> None:
    assert speakers_of(sessions()) == NAMES
    alone = [Session("s", group_messages([Message("Hello?", role="", speaker="Ann")]))]
    for wrong in (alone, []):
        with pytest.raises(InvalidInput, match="two speakers"):
            run(farmed("x", wrong), ScriptedModel([]))
