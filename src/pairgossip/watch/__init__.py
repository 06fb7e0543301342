"""The local web page: gossip to look at, drawn in a browser, computed by the real engines.

`server` serves, `guard` decides who may ask, `page_files` is all that can be fetched. Every view of
the page is a module here and a module of the page: `simulation` and ``page/simulation/``.
"""
