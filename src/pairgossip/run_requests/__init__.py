"""What front doors ask of a network: arguments checked, rows prepared, trials run."""
