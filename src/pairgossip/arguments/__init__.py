"""The arguments of the front doors, declared once; no module here imports numpy."""
