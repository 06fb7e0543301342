"""A peer's identity and the members that it trusts: keys, certificates, invitations, relays."""
