"""Each data set in its published form, a few lines written by us: what it is, and what is read of it."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets.cut import read_rows
from benchmarks.datasets.registry import FORMS, form_of, read
from benchmarks.memories.conversations import read_all
from benchmarks.segmentation import read_dialogues
from secom_core.errors import InvalidTranscript

LOCOMO = {
    "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "The boat lies in Cork."}],
    "session_1_date_time": "1:00 pm on 1 May, 2023",
    "qa": [{"question": "Where is the boat?", "answer": "Cork", "evidence": ["D1:1"], "category": 4}],
}
BEAM = {
    "name": "tiny",
    "sessions": [{"session": "1", "date": None, "messages": [{"id": "0", "role": "user", "content": "I sail."}]}],
    "questions": [{"kind": "hobby", "question": "What do I do?", "gold": "sail", "evidence": ["0"]}],
}
QMSUM = {
    "meeting_transcripts": [
        {"speaker": "Chair", "content": "Welcome."},
        {"speaker": "Chair", "content": " "},
        {"speaker": "Finance", "content": "The budget is 40,000."},
    ],
    "general_query_list": [{"query": "Summarise the meeting.", "answer": "A budget."}],
    "specific_query_list": [
        {"query": "What is the budget?", "answer": "40,000", "relevant_text_span": [["1", "2"]]},
        {"query": "Who is absent?", "answer": "nobody", "relevant_text_span": []},
    ],
}
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Where did I park?",
        "answer": "level 3",
        "question_date": "2023/05/25 (Thu) 08:00",
        "haystack_session_ids": ["s9", "s9"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I parked on level 3.", "has_answer": True},
                {"role": "assistant", "content": "Noted."},
            ],
            [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": ""}],
        ],
        "answer_session_ids": ["s9"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "multi-session",
        "question": "What is my boat called?",
        "answer": "You never said.",
        "question_date": "2023/05/25 (Thu) 08:00",
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [[{"role": "user", "content": "I sail.", "has_answer": True}]],
        "answer_session_ids": ["s1"],
    },
]
REALMEM = {
    "_metadata": {"person": "Ann"},
    "dialogues": [
        {
            "session_identifier": "Boat:S1",
            "session_uuid": "u1",
            "current_time": "2024-01-05 (Friday)",
            "dialogue_turns": [
                {"speaker": "User", "content": "The mast is 9 m.", "is_query": False},
                {"speaker": "Assistant", "content": "Good to know."},
            ],
        },
        {
            "session_identifier": "Boat:S2",
            "session_uuid": "u2",
            "current_time": "2024-01-09 (Tuesday)",
            "dialogue_turns": [
                {"speaker": "User", "content": "Hello again."},
                {"speaker": "Assistant", "content": "Hello!"},
                {"speaker": "User", "content": "Does it fit under the bridge?", "is_query": True, "query_id": "Q1"},
                {"speaker": "Assistant", "content": "At 9 m, no.", "memory_session_uuids": ["u1"]},
            ],
        },
    ],
}
MSC = {
    "metadata": {"initial_data_id": "msc_7"},
    "personas": [["I sail."], ["I bake."]],
    "previous_dialogs": [
        {"dialog": [{"text": "I sail."}, {"text": "I bake."}], "time_back": "2 days 3 hours"},
        {"dialog": [{"text": "Any wind?"}, {"text": "None."}], "time_back": "1 hours"},
    ],
    "dialog": [
        {"id": "Speaker 1", "text": "Back from sea."},
        {"id": "Speaker 2", "text": "I baked a loaf."},
        {"id": "Speaker 1", "text": "Save me some."},
        {"id": "Speaker 2", "text": "Of course."},
    ],
}


def call(*texts: str) -> dict[str, Any]:
    said = [{"role": "system" if place % 2 == 0 else "user", "text": text} for place, text in enumerate(texts)]
    return {"guid": "train-1", "dialogue": said, "memory": ["He/She sleeps well."], "summary": []}


CARECALL = [[call("Hello.", "Hi."), call("Hello.", "Hi."), call("Hello?", "Yes?", "How are you?", "Fine.", "Sleep?")]]
CHRONICLES = {
    "dataID": "episode-1",
    "relationship": "Neighbors",
    "time_interval": ["Start", "A few days after", "A few weeks after"],
    "summary": ["", "", ""],
    **{
        f"{each}_session_{kind}": value
        for each in ("first", "second", "third")
        for kind, value in (("dialogue", [f"The {each} hello.", "Hi."]), ("speakers", ["Neighbor A", "Neighbor B"]))
    },
    "fourth_session_dialogue": [],
    "fourth_session_speakers": [],
}
LONG_MTBENCH = [
    {
        "conversation_id": "c1",
        "sessions": [
            ["[human]: What is a fjord?\n[bot]: A drowned valley.", "[human]: Thanks.\n[bot]: You are welcome."]
        ],
        "questions": ["What did I ask of first?"],
        "answers": ["fjords"],
        "turns": [],
    }
]
MTBENCH_PLUS = [
    {
        "id": "mt-bench-plus-0",
        "type": "continuation",
        "conversations": [
            {"from": "human", "value": "Translate 'boat'.", "turn-info": "roleplay-1-0"},
            {"from": "chatbot", "value": ""},
            {"from": "human", "value": "What is a cactus?", "turn-info": "stem-2-0"},
            {"from": "chatbot", "value": ""},
            {"from": "human", "value": "And the word from the beginning?", "turn-info": "roleplay-1-Q"},
            {"from": "chatbot", "value": ""},
        ],
    }
]
MEMDAILY = {
    "simple": {
        "roles": [
            {
                "tid": 0,
                "message_list": ["My aunt Ida is 52.", {"mid": 1, "message": "Ida lives in Bergen.", "place": "Oslo"}],
                "QA": {
                    "question": "Where does my aunt live?",
                    "answer": "Bergen",
                    "target_step_id": [1],
                    "choices": {"A": "Oslo", "B": "Bergen"},
                    "ground_truth": "B",
                    "time": "2024-05-01",
                },
            }
        ]
    }
}
SETS = {
    "LoCoMo": LOCOMO,
    "chats, such as BEAM": BEAM,
    "QMSum": QMSUM,
    "LongMemEval": LONGMEMEVAL,
    "RealMem": REALMEM,
    "MSC": MSC,
    "CareCall": CARECALL,
    "Conversation Chronicles": CHRONICLES,
    "Long-MT-Bench+": LONG_MTBENCH,
    "MT-Bench+": MTBENCH_PLUS,
    "MemDaily": MEMDAILY,
}


def written(folder: Path, content: object, name: str = "some.json") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_every_form_is_tried_here() -> None:
    assert {form.title for form in FORMS} == SETS.keys()


@pytest.mark.parametrize("title", SETS)
def test_a_file_is_known_by_what_is_in_it_whether_json_or_json_lines(tmp_path: Path, title: str) -> None:
    assert form_of(written(tmp_path, SETS[title]))[0].title == title
    assert read(written(tmp_path, SETS[title]))
    if isinstance(SETS[title], dict):
        lines = "\n".join([json.dumps(SETS[title])] * 2) + "\n\n"
        if title in ("MSC", "Conversation Chronicles"):
            assert len(read(written(tmp_path, lines, "lines.txt"))) == 2


def test_longmemeval_has_a_history_a_question_its_evidence_and_abstention(tmp_path: Path) -> None:
    first, second = read(written(tmp_path, LONGMEMEVAL))
    (question,) = first.questions
    assert [session.name for session in first.sessions] == ["1:s9", "2:s9"]
    assert first.sessions[0].at == datetime(2023, 5, 20, 2, 21, tzinfo=timezone.utc)
    assert question.at == datetime(2023, 5, 25, 8, tzinfo=timezone.utc)
    assert (question.kind, question.gold, question.evidence) == (
        "single-session-user", "level 3", ("I parked on level 3.",),
    )  # fmt: skip
    assert question.turns == (first.sessions[0].turns[0].id,)
    assert len(first.sessions[0].turns) == 1, "a message and its reply are a turn"
    assert (second.questions[0].kind, second.questions[0].evidence) == ("abstention", ())


def test_realmem_asks_with_the_sessions_before_and_what_was_said_before(tmp_path: Path) -> None:
    (chat,) = read(written(tmp_path, REALMEM))
    (question,) = chat.questions
    assert [session.name for session in chat.sessions] == ["Boat:S1"], "the answer is not in the memory"
    assert (question.question, question.gold) == ("Does it fit under the bridge?", "At 9 m, no.")
    assert [message.text for message in question.context] == ["Hello again.", "Hello!"]


def test_msc_asks_for_the_replies_of_the_second_speaker(tmp_path: Path) -> None:
    (chat,) = read(written(tmp_path, MSC))
    assert chat.name == "msc_7"
    assert [turn.text for turn in chat.sessions[1].turns] == ["Speaker 1: Any wind?", "Speaker 2: None."]
    assert chat.sessions[1].at - chat.sessions[0].at == datetime(2022, 1, 3, 2) - datetime(2022, 1, 1)  # type: ignore[operator]
    first, second = chat.questions
    assert (first.kind, first.question, first.gold) == ("session 3", "Back from sea.", "I baked a loaf.")
    assert [message.line for message in second.context] == [
        "Speaker 1: Back from sea.", "Speaker 2: I baked a loaf.", "Speaker 1: Save me some.",
    ]  # fmt: skip
    assert (second.speaker, second.known) == ("Speaker 2", "Speaker 1: I sail.\nSpeaker 2: I bake.")


def test_carecall_asks_for_what_the_system_says_after_its_greetings(tmp_path: Path) -> None:
    (chat,) = read(written(tmp_path, CARECALL))
    assert len(chat.sessions) == 2
    (question,) = chat.questions
    assert (question.question, question.gold, question.known) == ("Fine.", "Sleep?", "He/She sleeps well.")


def test_chronicles_asks_from_the_third_session_on(tmp_path: Path) -> None:
    (chat,) = read(written(tmp_path, CHRONICLES))
    assert chat.name == "episode-1, session 3"
    assert [len(session.turns) for session in chat.sessions] == [2, 2]
    (question,) = chat.questions
    assert (question.gold, question.speaker, question.known) == ("Hi.", "Neighbor B", "They are Neighbors.")


def test_both_mtbenches(tmp_path: Path) -> None:
    (long,) = read(written(tmp_path, LONG_MTBENCH))
    assert [[message.text for message in turn.messages] for turn in long.turns] == [
        ["What is a fjord?", "A drowned valley."], ["Thanks.", "You are welcome."],
    ]  # fmt: skip
    assert (long.questions[0].question, long.questions[0].gold) == ("What did I ask of first?", "fjords")
    (plus,) = read(written(tmp_path, MTBENCH_PLUS))
    assert plus.questions[0].question == "And the word from the beginning?"
    assert plus.questions[0].evidence == ("Translate 'boat'.",)
    assert [turn.content for turn in plus.turns] == ["Translate 'boat'.", "What is a cactus?"]


def test_memdaily_has_choices_and_the_message_that_answers(tmp_path: Path) -> None:
    (chat,) = read(written(tmp_path, MEMDAILY))
    (question,) = chat.questions
    assert question.question == "Where does my aunt live?\nA. Oslo\nB. Bergen"
    assert (question.kind, question.gold, question.evidence) == ("simple", "Bergen", ("Ida lives in Bergen.",))


def test_qmsums_spans_count_all_utterances(tmp_path: Path) -> None:
    (chat,) = read(written(tmp_path, QMSUM))
    assert [turn.id for turn in chat.turns] == ["0", "2"]
    (question,) = chat.questions
    assert (question.evidence, question.turns) == (("The budget is 40,000.",), ("2",))


def test_what_has_no_evidence_is_not_measured_by_it(tmp_path: Path) -> None:
    written(tmp_path, LONGMEMEVAL)
    (chat,) = read_all([tmp_path])[tmp_path.stem]
    assert chat.name == "q1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "begins as JSON and is none"),
        ('{"a": 1}', "is of no data set that is read; give files of QMSum, LongMemEval"),
        ("Ann: hello", "is of no data set"),
        ('[{"question": "Where?", "haystack_sessions": []}]', "looks like LongMemEval, but cannot be read as such"),
    ],
)
def test_a_file_that_is_no_data_set_says_so(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(InvalidTranscript, match=says):
        read(written(tmp_path, content))


# -- where the subject changes ----------------------------------------------------------------------------------------

TURNS = ["A boat.", "My boat.", "Soup."]
CUTS = {
    "rows": json.dumps({"id": "1", "turns": TURNS, "boundaries": [0, 1, 0]}),
    "SuperDialSeg": {
        "dial_data": {
            "superseg-v2": [
                {
                    "dial_id": "1",
                    "turns": [
                        {"role": "user", "utterance": text, "segmentation_label": label, "topic_id": 0}
                        for text, label in zip(TURNS, (0, 1, 1), strict=True)
                    ],
                }
            ]
        }
    },
    "lengths": [{"dial_id": 1, "utterances": TURNS, "segments": [2, 1], "set": "test"}],
    "TIAGE": {"1": [[TURNS[0], "-1"], [TURNS[1], "0"], [TURNS[2], "1"]]},
    "DialSeg711": f"{TURNS[0]}\n{TURNS[1]}\n================\n{TURNS[2]}\n",
    "numbered": f"1\n0 {TURNS[0]}\n".replace("1\n", "call_id_1\n", 1) + f"0 {TURNS[1]}\n1 {TURNS[2]}\n",
}


@pytest.mark.parametrize("form", CUTS)
def test_every_form_of_segments_gives_the_same_boundaries(tmp_path: Path, form: str) -> None:
    (row,) = read_rows(written(tmp_path, CUTS[form], "1.txt"))
    assert (row["turns"], row["boundaries"]) == (TURNS, [0, 1, 0])
    (dialogue,) = read_dialogues(tmp_path)
    assert [(segment.start, segment.stop) for segment in dialogue.segments] == [(0, 2), (2, 3)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('[{"a": 1}]', "holds no dialogues with segments"),
        ("Ann: hello", "has no segments"),
        ('{"id": 1, "turns": ["a"], "boundaries": []}', "has 1 turns and 0 labels"),
    ],
)
def test_a_file_without_segments_says_so(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(InvalidTranscript, match=says):
        read_rows(written(tmp_path, content))
