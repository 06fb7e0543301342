"""The built-in kernels: a file of this room holds all that numpy needs to know of each."""
