"""A reply says whether it was cut off at its limit, whichever way the model's provider says so."""

from __future__ import annotations

import asyncio
import pickle
from enum import Enum
from types import SimpleNamespace

import pytest

from secom_core.llm.flow import Metered, Prompt
from secom_core.llm.reply import Reply, cut_off, ended_at_limit
from secom_core.testing import Answer, ScriptedModel


class FinishReason(Enum):
    """As Google's package has it."""

    STOP = 1
    MAX_TOKENS = 2


@pytest.mark.parametrize(
    "answer",
    [
        {"finish_reason": "length"},
        {"stop_reason": "max_tokens"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length", "done": True},
        {"finish_reason": "MAX_TOKENS"},
        {"finish_reason": "FinishReason.MAX_TOKENS"},
        {"candidates": [{"finish_reason": FinishReason.MAX_TOKENS}]},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        SimpleNamespace(choices=[SimpleNamespace(finish_reason="length")]),
        SimpleNamespace(raw=None, stop_reason="model_context_window_exceeded"),
    ],
)
def test_each_provider_s_way_of_saying_that_an_answer_was_cut_off(answer):
    assert ended_at_limit(answer)


@pytest.mark.parametrize(
    "answer",
    [None, {}, {"finish_reason": "stop"}, {"finish_reason": FinishReason.STOP}, {"choices": []}, "length", 7],
)
def test_everything_else_is_whole(answer):
    assert not ended_at_limit(answer)


def test_a_plain_string_is_a_whole_reply():
    assert not cut_off("Mi")
    assert not cut_off(Reply("Mi"))
    assert cut_off(Reply("Mi", cut_off=True))
    assert Reply("Mi", cut_off=True) == "Mi"
    assert cut_off(pickle.loads(pickle.dumps(Reply("Mi", cut_off=True))))


def test_a_script_can_say_that_a_reply_was_cut_off_and_counting_does_not_hide_it():
    model = ScriptedModel([Answer("The cat is called Mi", finish_reason="length"), "The cat is called Mia."] * 2)
    metered = Metered(model)
    assert [cut_off(metered.complete(Prompt("?"))) for _ in range(2)] == [True, False]
    assert [cut_off(asyncio.run(model.acomplete(Prompt("?")))) for _ in range(2)] == [True, False]
