"""What rows average where cells keep places too, and what is read from the averages."""
