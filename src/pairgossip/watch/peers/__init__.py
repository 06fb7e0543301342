"""The view of running peers: where they are, what each says, and what the page shows of it."""
