"""Methods written as one exchange: run as written, compiled, and with faults on one side."""
