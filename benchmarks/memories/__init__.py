"""The memories that the papers compare with, and those of other packages, in one harness."""
