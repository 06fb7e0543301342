"""HTML pages without script, for reading on a desk, a phone and paper."""
