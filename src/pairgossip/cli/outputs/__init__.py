"""What commands leave: files, summaries of runs and of trainings."""
