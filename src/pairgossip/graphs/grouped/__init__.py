"""Graphs of many points per site, of which only the sites' graph is stored."""
