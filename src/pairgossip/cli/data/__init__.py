"""What commands read: the columns of files, run specifications, how rows are randomized."""
