"""The one door for data: files, frames and arrays, their columns by name."""
