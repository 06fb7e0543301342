"""The ways to other members: sessions of Zenoh, from peer to peer or by a relay, and addresses."""
