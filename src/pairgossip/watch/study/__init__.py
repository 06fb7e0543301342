"""The operator's page of a study: the contents of a member's folder, and the decisions on it."""
