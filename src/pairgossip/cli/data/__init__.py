"""The input of commands: the columns of files, run specifications, how rows are randomized."""
