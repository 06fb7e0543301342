"""The view of saved results: which files there are, and the curves in them."""
