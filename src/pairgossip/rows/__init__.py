"""Rows from wherever they are: files, frames and arrays, read once and refused by their places."""
