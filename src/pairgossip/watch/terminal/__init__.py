"""The same views as text, for a terminal without a browser."""
