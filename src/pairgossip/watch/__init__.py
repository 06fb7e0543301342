"""The local web page: pictures of gossip, drawn in a browser, computed by the real engines.

`server` serves the page, decides which requests are allowed, and holds all files. Every view of the
page has its scripts in ``page/``: ``simulation/``, ``peers/`` and ``results/``.
"""
