"""The view of a simulation: its settings, its course, and the frames sent to the page."""
