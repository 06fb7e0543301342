"""What commands print and draw: heavy imports, loaded only when there is something to say."""
