"""Connections to other members: Zenoh sessions, direct or through a relay, and addresses."""
