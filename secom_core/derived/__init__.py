"""What is derived of raw turns: segments, their keys and vectors, and how far layers have come."""
