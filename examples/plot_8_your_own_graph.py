"""
A graph of your own, and its gap
================================

Nodes can gossip on any connected networkx graph. Its normalized gap gives the speed before a single
exchange is simulated, and shows which link is worth adding.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import pairgossip as pg

# %%
# The friendships of a karate club, which fell into two groups: as observed, with two more links
# between people far apart, and for comparison a ring of the same size.
club = nx.karate_club_graph()
linked = club.copy()
linked.add_edges_from([(16, 26), (14, 11)])
networks = {
    "club": pg.Graph.from_networkx(club),
    "two links more": pg.Graph.from_networkx(linked),
    "ring": pg.graphs.cycle(len(club)),
}
for name, network in networks.items():
    print(
        f"{name}: gap {network.normalized_gap():.5f}, diameter {network.diameter()}, "
        f"mixing time to 1 % {network.mixing_time(0.01):,}"
    )

# %%
# The exact distance between the law of a wandering observation's place and the uniform law; dotted,
# the spectral bound behind the mixing time.
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
times = np.unique(np.geomspace(1, 20_000, 80).astype(int))
for color, (name, network) in zip(("C0", "C1", "C2"), networks.items(), strict=True):
    bound = 0.5 * np.sqrt(network.n - 1) * (1 - network.normalized_gap()) ** times
    ax.loglog(times, network.total_variation(times), color=color, label=name)
    ax.loglog(times, bound, ":", color=color)
ax.set(ylim=(1e-4, 2), xlabel="exchanges", ylabel="total variation to uniform")
ax.set_title("Mixing: exact, and bound (dotted)")
ax.legend()

# %%
# The same order in a simulation: the larger the gap, the smaller the error.
ages = np.linspace(18, 60, len(club))
runs = {
    name: pg.estimate(ages, "gini", network, iterations=20_000, trials=50, seed=0, n_jobs=1)
    for name, network in networks.items()
}
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
pg.compare(runs, ax=ax)
ax.set(title="Gini's mean difference of ages", ylabel="RMS error over nodes (years)")
