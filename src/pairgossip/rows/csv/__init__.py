"""CSV files: read in blocks of lines by NumPy, or row by row where they are unusual."""
