"""For tests of applications: a language model, an embedder and a server of the OpenAI protocol that follow a script."""

from __future__ import annotations

from .models import ScriptedEmbedder, ScriptedModel
from .scripts import Answer, Fault, Script, ScriptedRequest, ToolCall
from .server import ScriptedServer

__all__ = [
    "Answer",
    "Fault",
    "Script",
    "ScriptedEmbedder",
    "ScriptedModel",
    "ScriptedRequest",
    "ScriptedServer",
    "ToolCall",
]
