"""The signals by name, and the weights that ship."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SIGNALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "passage_lexical": "BM25 of the passage",
        "passage_coverage": "the share of the query's words that the passage holds, by weight",
        "window_lexical": "BM25 of the passage with what stands around it, which counts for less",
        "window_coverage": "the share of the query's words that the passage and what stands around it hold, by weight",
        "turn_lexical": "BM25 of its turn",
        "segment_lexical": "BM25 of its memory's key",
        "session_lexical": "BM25 of its session",
        "passage_dense": "cosine of the passage's vector",
        "window_dense": "mean cosine of the passage and what stands around it",
        "segment_dense": "cosine of its memory's key's vector",
        "speaker": "whether the query names who speaks",
        "date": "whether it was said on, soon after, or about a day that the query names",
        "recency": "how lately it was said, before the query is asked or else before the scope's latest turn",
        "length": "the logarithm of its length, in characters",
        "depth": "the logarithm of how far into a user's message it begins, in hundreds of characters; else 0",
        "asks": "whether it ends as a question",
        "answers": "whether what stands before it ends as a question",
        "user": "whether a user says it to an assistant",
        "instruction": "whether it is an instruction for later",
        "preference": "whether it says what the user likes or must avoid",
        "fact": "whether it says who the user is",
        "non_answer": "whether it says that nothing is known",
        "item": "whether the item of a list begins there that the query asks for by its place, in an assistant's reply",
        "user_passage_lexical": "`passage_lexical` of what a user says and an assistant answers at length",
        "user_passage_dense": "`passage_dense` of what a user says and an assistant answers at length",
        "user_session_lexical": "`session_lexical` of what a user says and an assistant answers at length",
        "user_window_dense": "`window_dense` of what a user says and an assistant answers at length",
        "user_segment_dense": "`segment_dense` of what a user says and an assistant answers at length",
        "user_length": "`length` of what a user says and an assistant answers at length",
    }
)
"""Every signal that `ScopeIndex.search` knows, by name; one that ships with no weight is computed where a weight is
given, be it 0."""

HINTS: Final = frozenset(
    {"speaker", "date", "asks", "answers", "user", "instruction", "preference", "fact", "non_answer", "item"}
)
"""Signals that hold for a turn or do not."""

UNSCALED: Final = HINTS | {"depth"}
"""Signals that keep their size however few passages they are not 0 for."""

STANDS: Final = frozenset({"instruction", "preference", "fact"})
"""Signals of what holds whatever is asked."""

LEXICAL: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.6,
        "segment_lexical": 0.34,
        "session_lexical": 0.18,
        "passage_coverage": 0.08,
        "speaker": 1.27,
        "date": 2.6,
        "length": 0.37,
        "asks": -0.25,
        "answers": 0.31,
        "user": 1.45,
        "instruction": 0.8,
        "preference": 0.4,
        "fact": 0.1,
        "user_passage_lexical": 0.3,
        "user_length": -0.52,
        "depth": -0.23,
        "non_answer": -1.0,
        "item": 3.0,
    }
)
"""Without vectors. Fitted by ``benchmarks/fit_weights.py`` on conversations between people (LoCoMo 26, 30, 41, 42 and
43) and chats with an assistant (BEAM) together, either counting the same, then rounded. Two things are set by hand: the
signals in `STANDS` are lower than the fit, as every chat of BEAM is asked about its instructions and not every user's
is; and ``non_answer``, of which neither set holds any."""

DENSE: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.5,
        "segment_lexical": 0.13,
        "session_lexical": 0.27,
        "passage_coverage": 0.04,
        "passage_dense": 0.37,
        "window_dense": 0.28,
        "segment_dense": 0.27,
        "speaker": 1.07,
        "date": 2.6,
        "length": 0.55,
        "asks": -0.25,
        "answers": 0.23,
        "user": 1.6,
        "instruction": 0.5,
        "preference": 0.45,
        "fact": 0.05,
        "user_passage_lexical": 0.13,
        "user_session_lexical": -0.23,
        "user_passage_dense": 0.47,
        "user_window_dense": -0.37,
        "user_segment_dense": -0.27,
        "user_length": -0.69,
        "depth": -0.2,
        "non_answer": -1.0,
        "item": 3.0,
    }
)
"""With vectors of a model that reads a text whole. Fitted in the same way, with all-MiniLM-L6-v2, people's talk
counting twice; the signals in `STANDS` are lower than the fit."""

STATIC: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.48,
        "segment_lexical": 0.23,
        "session_lexical": 0.27,
        "passage_coverage": 0.05,
        "passage_dense": 0.19,
        "window_dense": 0.29,
        "segment_dense": 0.16,
        "speaker": 1.16,
        "date": 2.6,
        "length": 0.53,
        "asks": -0.29,
        "answers": 0.27,
        "user": 1.5,
        "instruction": 0.5,
        "preference": 0.45,
        "fact": 0.05,
        "user_passage_lexical": 0.09,
        "user_session_lexical": -0.2,
        "user_passage_dense": 0.44,
        "user_window_dense": -0.38,
        "user_segment_dense": -0.05,
        "user_length": -0.74,
        "depth": -0.17,
        "non_answer": -1.0,
        "item": 3.0,
    }
)
"""With vectors that are means of word vectors (`secom_core.models.StaticEmbedder`), which say less of a passage. Fitted
as `DENSE` is, with wordllama's table; the signals in `STANDS` are its."""

USERS: Final = "user_"
"""What the names of signals begin with that count only for what a user says and an assistant answers at length."""
