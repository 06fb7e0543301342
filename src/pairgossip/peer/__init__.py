"""The field: one process per device or site, exchanging with its neighbors, losing nothing.

The exchange itself (`exchange`, `messages`, `rules`, `state`, `context`) does no
input or output; `runtime` gives it a clock, `journal` a disk, `zenoh_link` a network, and `service`
makes a process of it.
"""
