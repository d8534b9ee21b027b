"""Measures: segmentation, retrieval, generated answers, what a summary retains; a judge; TeaFarm."""
