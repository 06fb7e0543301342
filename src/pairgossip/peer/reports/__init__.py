"""Reports: what a study publishes of the table of counts that all members know."""
