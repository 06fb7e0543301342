"""The operator's page of a study: what a member's folder shows, and what its operator decides."""
