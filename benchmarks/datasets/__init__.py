"""Data sets of conversations in the forms in which their authors publish them, recognised by what is in a file."""
