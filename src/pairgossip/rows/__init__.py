"""Read data from files, frames and arrays, with columns by name."""
