"""`pairgossip summarize` and `answer`: files of counts, and statistics read from them."""
