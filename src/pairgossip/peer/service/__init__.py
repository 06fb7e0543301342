"""A running peer: the link, the loop around the protocol, and its reports."""
