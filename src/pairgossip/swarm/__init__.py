"""A whole network of real peers on one machine: founded, run, disturbed, stopped and audited."""
