"""Output of commands: files, and summaries of runs and of trainings."""
