"""Denoisers: what of a text becomes the key that is searched. Every one fits `secom_core.protocols.Denoiser`."""

from __future__ import annotations

from .informativeness import Informativeness
from .llmlingua import LLMLingua2

__all__ = ["Informativeness", "LLMLingua2"]
