"""A running peer: the link, the loop around the protocol, and what it tells about itself."""
