"""The paper, reproduced: its experiments, its errata, and the report about them.

It is built on `pairgossip` and ships with it. The library reaches it through
`pairgossip.experiments` alone, which has all that is public.
"""
