"""What one member of a study keeps: its folder, its rows, its policy, and what has left them."""
