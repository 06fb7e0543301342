"""The data of one member of a study: its folder, rows, policy, and record of disclosures."""
