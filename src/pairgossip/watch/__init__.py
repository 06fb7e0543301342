"""The local web page: gossip to look at, drawn in a browser, computed by the real engines.

`server` serves, decides who may ask, and holds all that can be fetched. Every view of
the page is a room here and a room of the page: `simulation` and ``page/simulation/``.
"""
