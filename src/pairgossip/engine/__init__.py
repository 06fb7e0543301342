"""The fast twins: schedule -> walk -> accumulate, trials, checkpoints. Only this room uses numba.

The path of each auxiliary observation depends on the edges alone, not on the data. An engine
therefore takes blocks of random exchanges and touches only the nodes of each exchange: while a
node's pair is unchanged its sum grows by a constant, which is added when the pair next changes.
"""
