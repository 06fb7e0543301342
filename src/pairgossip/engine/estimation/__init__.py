"""Trials of estimation: the plain, token and fused engines."""
