"""`pairgossip summarize` and `answer`: tables of counts as files to mail."""
