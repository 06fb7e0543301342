"""Programs on masked sums: members learn each sum, and no contribution to it."""
