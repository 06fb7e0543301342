"""How sure the estimate of a peer is whose rows travel."""
