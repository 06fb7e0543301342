"""Commands that simulate networks on one machine, and read what they have saved."""
