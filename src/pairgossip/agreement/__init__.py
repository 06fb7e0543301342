"""Do the sites agree: a statistic of several sites, how far it differs, and what a new one has."""
