"""What the papers report, row by row, as their tables have it; the numbers are cited, the wording of rows is ours.

Each text has a line a row: its label, a bar, and the figures in the order of the table's columns; ``-`` is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

Row = tuple[float | None, ...]


def rows_in(text: str, columns: Sequence[str]) -> dict[str, Row]:
    """The rows of a text, by their labels.

    Raises:
        ValueError: for a row with more or fewer figures than there are columns.
    """
    found: dict[str, Row] = {}
    for line in text.strip().splitlines():
        label, _, figures = line.partition("|")
        row = tuple(None if each == "-" else float(each) for each in figures.split())
        if len(row) != len(columns):
            raise ValueError(f"{label.strip()!r} has {len(row)} figures for {len(columns)} columns")
        found[label.strip()] = row
    return found


# SeCom (arXiv 2502.05589). GPT4Score, BLEU, Rouge1, Rouge2, RougeL, BERTScore, tokens of the context.
SECOM_1_LOCOMO: Final = """
zero history | 24.86 1.94 17.36 3.72 13.24 85.83 0
full history | 54.15 6.26 27.20 12.07 22.39 88.06 13330
turns (dense) | 57.99 6.07 26.61 11.38 21.60 88.01 3288
turns (BM25) | 65.58 7.05 29.12 13.87 24.21 88.44 3657
sessions (dense) | 51.18 5.22 24.23 9.33 19.51 87.45 3471
sessions (BM25) | 63.16 7.45 29.29 14.24 24.29 88.33 3619
SumMem | 53.87 2.87 20.71 6.66 16.25 86.88 4108
RecurSum | 56.25 2.22 20.04 8.36 16.25 86.47 400
ConditionMem | 65.92 3.41 22.28 7.86 17.54 87.23 3563
MemoChat | 65.10 6.76 28.54 12.93 23.65 88.13 1159
SeCom (dense) | 69.33 7.19 29.58 13.74 24.38 88.60 3716
SeCom (BM25) | 71.57 8.07 31.40 16.30 26.55 88.88 3731
"""
SECOM_1_LONG_MTBENCH: Final = """
zero history | 49.73 4.38 18.69 6.98 13.94 84.22 0
full history | 63.85 7.51 26.54 12.87 20.76 85.90 19287
turns (dense) | 84.91 12.09 34.31 19.08 27.82 86.49 909
turns (BM25) | 82.85 11.52 32.84 17.86 26.03 87.03 1047
sessions (dense) | 73.38 8.89 29.34 14.30 22.79 86.61 3680
sessions (BM25) | 81.27 11.85 32.87 17.83 26.82 87.32 4118
SumMem | 63.42 7.84 25.48 10.61 18.66 85.70 1651
RecurSum | 62.96 7.17 22.53 9.42 16.97 84.90 567
ConditionMem | 63.55 7.82 26.18 11.40 19.56 86.10 1085
MemoChat | 85.14 12.66 33.84 19.01 26.87 87.21 1615
SeCom (dense) | 88.81 13.80 34.63 19.21 27.64 87.72 820
SeCom (BM25) | 86.67 12.74 33.82 18.72 26.87 87.37 906
"""
SECOM_2_LOCOMO: Final = """
SeCom (dense) | 69.33 7.19 13.74 88.60
without denoising (dense) | 59.87 6.49 12.11 88.16
"""
SECOM_2_LONG_MTBENCH: Final = """
SeCom (dense) | 88.81 13.80 19.21 87.72
without denoising (dense) | 87.51 12.94 18.73 87.44
"""
SECOM_3: Final = """
full history | 78.73 10.25 29.43 14.32 23.37 86.77 19287
turns (BM25) | 83.14 13.60 33.28 19.11 27.32 87.52 1047
sessions (BM25) | 81.03 12.49 32.39 17.11 25.66 87.21 4118
SeCom (BM25) | 89.43 15.06 35.77 21.35 29.50 87.89 906
turns (dense) | 85.61 12.78 35.06 19.61 28.51 87.77 909
sessions (dense) | 75.29 9.14 28.65 13.91 22.52 86.51 3680
SeCom (dense) | 90.58 15.80 36.14 21.49 29.94 88.07 820
"""
# Pk, WindowDiff, F1, Score.
SECOM_4: Final = {
    "dialseg711": """
BayesSeg | 0.306 0.350 0.556 0.614
TextTiling | 0.470 0.493 0.245 0.382
GraphSeg | 0.412 0.442 0.392 0.483
TextTiling with Glove | 0.399 0.438 0.436 0.509
GreedySeg | 0.381 0.410 0.445 0.525
CSM | 0.278 0.302 0.610 0.660
SeCom, zero-shot | 0.093 0.103 0.888 0.895
RoBERTa trained on TIAGE | 0.197 0.210 0.650 0.723
SeCom, rubric from TIAGE | 0.050 0.056 0.921 0.934
RoBERTa trained on SuperDialSeg | 0.241 0.272 0.660 0.702
SeCom, rubric from SuperDialSeg | 0.049 0.054 0.924 0.936
""",
    "superdialseg": """
BayesSeg | 0.433 0.593 0.438 0.463
TextTiling | 0.441 0.453 0.388 0.471
GraphSeg | 0.450 0.454 0.249 0.398
TextTiling with Glove | 0.519 0.524 0.353 0.416
GreedySeg | 0.490 0.494 0.365 0.437
CSM | 0.462 0.467 0.381 0.458
SeCom, zero-shot | 0.277 0.289 0.758 0.738
RoBERTa trained on TIAGE | 0.434 0.436 0.276 0.420
SeCom, rubric from TIAGE | 0.265 0.273 0.765 0.748
RoBERTa trained on SuperDialSeg | 0.185 0.192 0.784 0.798
SeCom, rubric from SuperDialSeg | 0.256 0.264 0.776 0.758
""",
    "tiage": """
BayesSeg | 0.486 0.571 0.366 0.419
TextTiling | 0.469 0.488 0.204 0.363
GraphSeg | 0.496 0.515 0.238 0.366
TextTiling with Glove | 0.486 0.511 0.236 0.369
GreedySeg | 0.490 0.506 0.181 0.341
CSM | 0.400 0.420 0.427 0.509
SeCom, zero-shot | 0.363 0.401 0.596 0.607
RoBERTa trained on TIAGE | 0.265 0.287 0.572 0.648
SeCom, rubric from TIAGE | 0.333 0.362 0.632 0.642
RoBERTa trained on SuperDialSeg | 0.401 0.418 0.373 0.482
SeCom, rubric from SuperDialSeg | 0.318 0.345 0.634 0.651
""",
}
# Tokens in, tokens out and seconds a question, GPT4Score.
SECOM_5: Final = """
sessions | 3642 102 2.17 73.38
MemoChat | 7233 229 5.60 85.14
SeCom | 1722 135 2.61 88.81
"""
SECOM_6: Final = """
full history | 66.28 7.51 28.73 14.07 27.90 87.82 18655
MemoChat | 75.77 11.28 32.91 18.82 29.78 87.98 1159
turns (dense) | 81.52 11.91 36.00 19.59 34.99 88.64 3026
sessions (dense) | 74.20 10.95 29.92 14.64 29.27 87.96 3442
SeCom (dense) | 84.21 12.80 36.70 19.90 35.61 88.59 3565
"""
SECOM_11: Final = """
SeCom, RoBERTa cuts (dense) | 61.84 6.41 27.51 12.27 23.06 88.08 3767
SeCom, Mistral-7B cuts (dense) | 66.37 6.95 28.86 13.21 23.96 88.27 3720
SeCom (dense) | 69.33 7.19 29.58 13.74 24.38 88.60 3716
"""

# RSum (arXiv 2308.15022), session 5. F1, BLEU-1, BLEU-2, BERTScore.
RSUM_3_MSC: Final = """
full history | 19.41 21.23 12.24 86.13
turns (BM25) | 19.56 21.60 12.46 85.82
turns (dense) | 20.23 21.75 12.55 86.04
MemoChat | 18.93 21.82 12.59 85.99
MemoryBank | 20.28 21.82 12.58 86.12
RSum | 20.48 21.83 12.59 86.89
"""
RSUM_3_CARECALL: Final = """
full history | 13.69 21.15 12.20 85.53
turns (BM25) | 12.64 21.57 12.44 85.24
turns (dense) | 12.21 21.39 12.35 85.25
MemoChat | 11.19 21.07 12.18 85.22
MemoryBank | 13.15 21.29 12.39 85.34
RSum | 14.02 21.64 12.48 86.05
"""
# Engagingness, coherence, consistency.
RSUM_4: Final = """
full history | 75.48 75.00 75.48
MemoryBank | 74.68 80.92 84.56
MemoChat | 72.32 77.36 78.96
RSum | 78.92 83.56 84.76
"""
# BERTScore, F1, BLEU-1, BLEU-2.
RSUM_5: Final = """
RSum | 86.89 20.48 21.83 12.59
zero history | 85.40 18.94 21.10 12.17
golden memory | 85.93 20.46 21.50 12.40
"""
# F1, BLEU-1, BLEU-2.
RSUM_7: Final = """
zero-shot | 20.48 21.76 12.59
two-shot | 20.63 22.04 12.71
three-shot | 21.08 22.23 12.82
"""
# F1, coherence, consistency.
RSUM_8: Final = """
full history | 19.41 75.00 75.48
turns (BM25) | 20.91 75.44 76.88
RSum and turns (BM25) | 21.81 84.44 90.68
turns (dense) | 20.97 78.60 79.20
RSum and turns (dense) | 21.69 83.40 86.48
"""
# Win, tie, lose; the text gives two of them, against MemoryBank alone.
RSUM_F4: Final = """
MemoryBank | 48.2 - 11.9
"""

# Theanine (arXiv 2406.10996). BLEU-4, RougeL, Mauve, BERTScore; the mean of sessions 3 to 5.
THEANINE_1_MSC: Final = """
full history | 1.65 14.89 9.06 86.28
memory retrieval | 1.92 15.49 11.16 86.47
memory update | 1.67 15.30 13.71 86.39
RSum | 0.75 11.53 2.45 84.91
MemoChat | 1.42 13.51 7.72 85.96
COMEDY | 1.06 12.79 7.27 85.29
Theanine | 1.80 15.37 18.62 86.70
"""
THEANINE_1_CC: Final = """
full history | 4.90 21.56 26.47 88.13
memory retrieval | 4.93 20.63 33.06 88.07
memory update | 4.46 20.19 34.28 88.02
RSum | 0.98 11.42 2.28 85.59
MemoChat | 2.31 15.87 15.12 87.08
COMEDY | 1.70 13.57 1.95 85.90
Theanine | 6.85 22.68 64.41 88.58
"""
THEANINE_2: Final = """
Theanine | 4.32 19.03 41.52 87.64
without relations | 4.07 18.58 39.69 87.57
without refinement | 4.03 18.82 41.34 87.66
shuffled | 4.15 18.70 38.49 87.61
memory retrieval | 3.43 18.06 22.11 87.27
"""
# Success.
THEANINE_4: Final = {
    "MSC": """
memory retrieval | 0.16
memory update | 0.16
RSum | 0.04
MemoChat | 0.09
COMEDY | 0.06
Theanine | 0.18
without relations | 0.17
without refinement | 0.16
""",
    "Conversation Chronicles": """
memory retrieval | 0.19
memory update | 0.19
RSum | 0.08
MemoChat | 0.15
COMEDY | 0.18
Theanine | 0.24
without relations | 0.20
without refinement | 0.19
""",
}
# Entail, neutral, contradict.
THEANINE_F6: Final = """
memory retrieval | 24 70 6
memory update | 34 64 2
RSum | 42 52 6
MemoChat | 44 54 2
COMEDY | 42 50 8
Theanine | 68 28 4
"""

# RMM (arXiv 2503.08026). METEOR, BERTScore and judged right (Table 5) on MSC; accuracy on LongMemEval.
RMM_1: Final = {
    "MSC": """
zero history | 5.2 10.6 -
full history | 14.8 31.9 25.4
turns (dense) | 24.8 50.8 -
MemoryBank | 20.1 40.3 -
LD-Agent | 25.4 51.5 -
RMM | 30.8 55.4 69.7
""",
    "LongMemEval": """
zero history | - - 0.0
full history | - - 57.4
turns (dense) | - - 58.8
MemoryBank | - - 59.6
LD-Agent | - - 59.2
RMM | - - 61.2
""",
}
# METEOR, BERTScore on MSC.
RMM_2: Final = """
turns (dense) | 24.8 50.8
topics alone | 28.6 53.3
learning alone, of the retriever | 20.3 31.8
learning alone, of the reranker | 27.5 52.2
RMM | 30.8 55.4
"""
# Recall of five units on LongMemEval, as a share.
RMM_1_RECALL: Final = """
turns (dense) | 0.543 - -
MemoryBank | 0.586 - -
LD-Agent | 0.568 - -
RMM | 0.604 - -
"""
# Precision, recall, F1.
RMM_3: Final = """
useful | 89.4 91.1 90.2
not useful | 87.2 84.6 85.9
overall | 87.6 85.8 86.7
"""
