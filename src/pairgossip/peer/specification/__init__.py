"""The agreement of peers on a run: the specification, its checks, its mechanism."""
