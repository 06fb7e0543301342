"""Statistics of order: quantiles, ranks, trimmed means, and tests by ranks."""
