"""The exchange between two peers as a state machine: no files, no network, no clock."""
