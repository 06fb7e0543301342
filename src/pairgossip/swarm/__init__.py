"""A whole network of real peers on one machine: created, run, disturbed, stopped and audited."""
