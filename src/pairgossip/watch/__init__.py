"""The local web page: gossip to look at, drawn in a browser, computed by the real engines.

`server` serves, decides who may ask, and holds all that can be fetched. Every view of the page
has its scripts in ``page/``: ``simulation/``, ``peers/`` and ``results/``.
"""
