"""The paper's algorithms, corrected, and faster ones, one file each, in plain NumPy.

Each file holds a ``State`` (what the network carries), ``init`` and ``step``. The loop lives
outside: the caller of ``step`` also decides which edge rings, so that randomness is always an
argument. These files are the reference; the engine's fast twins must agree with them.

In every pairwise state ``held[k]`` names the node whose observation node ``k`` holds as its
auxiliary observation (the paper's ``y_k`` is ``x[held[k]]``), and ``h(nodes, held)`` evaluates
the kernel on pairs of nodes.
"""
