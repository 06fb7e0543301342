"""How good models are: objectives of many models over all pairs at once."""
