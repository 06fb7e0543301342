"""The built-in kernels: all NumPy code and facts of a kernel are in one file."""
