"""The arguments of front doors, declared once; no module here imports numpy."""
