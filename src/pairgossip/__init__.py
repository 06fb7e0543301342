"""Gossip algorithms for pairwise statistics and learning."""
