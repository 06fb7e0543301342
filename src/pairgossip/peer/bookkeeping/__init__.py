"""What a site keeps beside its data, for all of its peers."""
