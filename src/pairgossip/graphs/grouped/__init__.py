"""Graphs with many rows per site, which store only the graph of the sites."""
