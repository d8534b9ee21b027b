"""A chat model and an embedder for tests: no network, no weights, the same result every time."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np

from ..errors import BadReply, ModelUnavailable
from ..llm.reply import Reply
from ..protocols import Prompt, Vectors
from .scripts import Answer, Fault, Script, ScriptedRequest, ScriptPlayer

_WORD: Final = re.compile(r"\w+")


class ScriptedModel:
    """A chat model that replies by a script (`secom_core.testing.scripts`), for sync and async callers.

    It goes wherever this package takes a language model::

        model = ScriptedModel({"weather": "It rains.", "": Fault(status=500)})
        assert model.complete(Prompt("How is the weather?")) == "It rains."
        assert model.requests[0].text == "How is the weather?"

    A `Fault` is raised as `ModelUnavailable`, an empty answer as `BadReply`, and an `Answer` with the finish reason
    ``"length"`` is a `Reply` that was cut off, as with `OpenAIModel`.

    Args:
        script: the replies.
        name: the model's name.

    Raises:
        InvalidInput: where the script has no reply to a prompt. As this is no `ModelError`, the test fails, and nothing
            takes over in the model's place.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self._script = ScriptPlayer(script)

    @property
    def requests(self) -> tuple[ScriptedRequest, ...]:
        """The prompts so far, in order, each as the request that a server would get."""
        return self._script.requests

    def complete(self, prompt: Prompt) -> str:
        """The script's reply to ``prompt``."""
        reply = self._script.reply(self._request(prompt))
        time.sleep(_seconds(reply))
        return _text(reply)

    async def acomplete(self, prompt: Prompt) -> str:
        """The script's reply to ``prompt``."""
        reply = self._script.reply(self._request(prompt))
        await asyncio.sleep(_seconds(reply))
        return _text(reply)

    def _request(self, prompt: Prompt) -> ScriptedRequest:
        system = [] if prompt.system is None else [{"role": "system", "content": prompt.system}]
        options = {"model": self.name, "temperature": prompt.temperature, "max_tokens": prompt.max_tokens}
        messages = [*system, {"role": "user", "content": prompt.text}]
        return ScriptedRequest({"messages": messages, **options}, purpose=prompt.purpose)


def _seconds(reply: Answer | Fault) -> float:
    return reply.delay if math.isfinite(reply.delay) else 0.0


def _text(reply: Answer | Fault) -> Reply:
    if isinstance(reply, Fault):
        raise ModelUnavailable(str(reply))
    if not reply.text or not reply.text.strip():
        raise BadReply("the reply is empty", reply.text or "")
    return Reply(reply.text, cut_off=reply.finish == "length")


class ScriptedEmbedder:
    """An embedder that hashes words: texts that share words have similar vectors.

    It goes wherever this package takes an embedder::

        cat, same, boat = ScriptedEmbedder().embed(["The cat sleeps.", "the cat sleeps", "A boat leaks."])
        assert cat @ same > cat @ boat

    Args:
        dimensions: the length of a vector.
        name: the embedder's name, which a bank keeps with the vectors.
    """

    def __init__(self, dimensions: int = 64, *, name: str = "scripted") -> None:
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), dimensions)``, each of length 1."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.casefold()) or ["\0"]:
                number = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
                row[number % self.dimensions] += 1.0 if number >> 63 else -1.0
            # Words may cancel each other out, and every text has a direction.
            row[0] += not row.any()
            row /= np.linalg.norm(row)
        return rows
