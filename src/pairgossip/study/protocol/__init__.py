"""The rules of a study, without any input or output."""
