"""Who a peer is and whom it trusts: keys, certificates, members, access."""
