"""What keeps pairgossip, or a peer, from working on this machine, and what to do about it."""
