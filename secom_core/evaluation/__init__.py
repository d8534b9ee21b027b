"""Measures: segmentation and retrieval."""
