"""Learning from averages on a network: passes of averaging, and the solver that uses them."""
