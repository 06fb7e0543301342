"""Records that a site keeps with its data, for all of its peers."""
