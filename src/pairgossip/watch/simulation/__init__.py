"""The view of a simulation: its settings, its progress, and the frames sent to the page."""
