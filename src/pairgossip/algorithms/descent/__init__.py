"""Dual averaging of gradients, which learns a model, in one place and by gossip."""
