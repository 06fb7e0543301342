"""The page's server: allowed connections, requests, and messages to viewers."""
