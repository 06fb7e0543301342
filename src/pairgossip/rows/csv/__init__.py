"""Files of text: blocks of lines by NumPy, or row by row where they are odd."""
