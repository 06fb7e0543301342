"""Peers: one process per device or site, which exchanges with its neighbors and loses nothing.

The protocol (`protocol`) does no input or output; `storage` gives it a disk, `links` a network, and
`service` a clock and a process.
"""
