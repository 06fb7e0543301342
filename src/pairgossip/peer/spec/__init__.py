"""What peers have agreed to compute: the specification, its checks, its mechanism."""
