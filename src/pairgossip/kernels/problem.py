"""What a network estimates, and all that engines, plans, theory and results ask of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.blocks import Progress
from pairgossip.kernels.data import check_data
from pairgossip.kernels.kernel import AnyKernel, Kernel, Scale

if TYPE_CHECKING:
    from numpy.random import SeedSequence

    from pairgossip.inference.answer import Law
    from pairgossip.inference.orders import NodeTest
    from pairgossip.kernels.pairs import Pairs
    from pairgossip.order_statistics.statistics import Sampling
    from pairgossip.privacy import PrivacyError, RandomizedResponse


class Problem:
    """A statistic that a network estimates.

    Whatever the package knows of a problem it asks here, and a problem that says nothing of
    something has none of it: no numbers that must spread first, no privacy, no sketch. What nodes
    add is known to the problem of a trial only, as private problems draw reports for every trial.

    Attributes
    ----------
    n
        How many nodes take part.
    data
        All observations, one row each.
    kernel, components
        The kernel or combination that pairs are averaged of, None without pairs, and how many
        numbers a pair adds or a node averages.
    target, scale
        The kind of statistic, such as "v" or "u", and the factor that goes with it.
    """

    n: int
    data: FloatArray
    kernel: AnyKernel | None = None
    components: int
    target: str
    scale: float
    features: FloatArray
    """What each node starts from, shape (n, components), where nodes average without pairs."""
    title = ""
    """What is estimated, where it is not the mean of the kernel."""
    dimension = 0
    """How many numbers one observation has, where observations travel."""
    fusible = False
    """Whether compiled code may work on `data`, or on what nodes average, itself."""
    step_options: Mapping[str, Any] = MappingProxyType({})
    """What the steps of its method take besides."""
    holders: IntArray = np.arange(0)
    """Which nodes hold the numbers that all must learn before they know their features."""
    site_of: IntArray | None = None
    """The site of every row, where nodes are sites."""
    is_counted = False
    """Whether the last of the averages is how many rows there are."""
    set_sizes: IntArray | None = None
    """How many rows each site has, where sites pass on all their rows at once."""
    weights: FloatArray | None = None
    """How often each row counts; None for once."""
    classes: IntArray | None = None
    """The class of every row, where two classes are compared."""
    mechanism: RandomizedResponse | None = None
    """The randomized response, where nodes see reports only."""
    sketch_name: str | None = None
    """The sketch whose features nodes average."""
    limit = math.nan
    """What nodes agree on in the end, where they average a sketch."""

    @property
    def name(self) -> str:
        """What results call the statistic; empty for a plain mean."""
        return self.title or ("" if self.kernel is None else self.kernel.name)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels of which pairs add the values."""
        return () if self.kernel is None else self.kernel.components

    @property
    def own_share(self) -> FloatArray | float:
        """Which part of a row's pair with itself counts, for every row."""
        return 1.0

    # The target

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""
        raise NotImplementedError

    def matrix(self, component: int = 0) -> FloatArray:
        """Return what all pairs of nodes add for one component, on average over trials."""
        raise NotImplementedError

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        raise NotImplementedError

    def expected(self) -> Problem:
        """Return what nodes average or add, on average over trials."""
        return self

    def linearized(self) -> tuple[FloatArray, float]:
        """Return numbers whose averaging shows how estimates settle, and what error stays.

        To first order a node's error is that of averaging these numbers, one per node.
        """
        raise NotImplementedError

    # A trial, and how algorithms begin and go on

    def for_trial(self, seed: SeedSequence) -> Problem:
        """Return the problem of one trial: itself where nothing about it is random."""
        return self

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return what each node adds for what it holds, shape (m, components).

        The average over all n^2 ordered pairs of nodes is the target.
        """
        raise NotImplementedError

    def own_values(self) -> FloatArray:
        """Return what nodes know before they meet others, shape (n, components)."""
        everyone = np.arange(self.n, dtype=np.intp)
        return self.values(everyone, everyone)

    @property
    def init_arguments(self) -> tuple[Any, ...]:
        """What an algorithm as written begins with."""
        return self.n, self.components

    @property
    def step_arguments(self) -> tuple[Any, ...]:
        """What its steps take besides the state and the exchanges."""
        return (self.values,)

    @property
    def why_not_fused(self) -> str:
        """Why compiled code may not work on the data, where it may not."""
        return (
            "Engine 'fused' compiles the kernel of two single observations, which is not what "
            "nodes evaluate here"
        )

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's estimate from its averages, shape (n, components)."""
        assert self.kernel is not None
        return self.kernel.combine(averaged)

    # Errors

    @property
    def visible_pairs(self) -> Pairs | None:
        """The pairs of rows as nodes see them, from which whoever knows all computes any error."""
        return None

    @property
    def positive(self) -> str | None:
        """What results call the positive one of two classes; None where there is none."""
        return None

    @property
    def freedom(self) -> float:
        """The degrees of freedom of a sampling error: rows less one, of the smaller class."""
        of = np.zeros(self.n, dtype=np.intp) if self.classes is None else self.classes
        return float(np.bincount(of, self.weights).min() - 1)

    @property
    def interval_scale(self) -> Scale:
        """The scale on which intervals are symmetric."""
        return "plain" if self.kernel is None else self.kernel.interval_scale

    def check_interval(self) -> None:
        """Raise `InputError` if reports are too noisy for intervals of their level."""

    def predicted_error(self, exact: float | FloatArray) -> PrivacyError | None:
        """Predict how far the statistic of private reports is off the exact one."""
        return None

    def sampling(self, averaged: FloatArray, level: float) -> Sampling | None:
        """Return what nodes read of the sampling error from their averages, if it is there."""
        return None

    def null_errors(self, averaged: FloatArray, test: NodeTest) -> FloatArray:
        """Return each node's standard error without an effect, from the averages it has."""
        return test.errors(averaged, None)

    @property
    def ties_known(self) -> bool | None:
        """Whether nodes know which rows are tied; None where nodes average no cells."""
        return None

    def tie_sizes(self, averaged: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return how many rows each node takes for tied with each other, in either column."""
        return None

    # Sites and sketches

    def at_sites(self, site_of: IntArray) -> Problem:
        """Return the problem of sites that swap all their rows at once."""
        raise NotImplementedError

    def report_shares(self, site_of: IntArray | None) -> Problem:
        """Return the problem of averaging how often each report was given."""
        raise NotImplementedError

    @property
    def bracket(self) -> tuple[float, float] | None:
        """The interval that holds the statistic for sure; None if none is known."""
        return None

    def limit_error(self, level: float) -> float | None:
        """Return what nodes agree on in the end as the sampling error of intervals at a level."""
        return None

    def limit_law(self, freedom: float) -> Law | None:
        """Return the law of the statistic over its error, where nodes know more than freedom."""
        return None


# Values that nodes have from the start, and their mean: the separable problem.


class Averages(Problem):
    """What classic gossip averages, without pairs, and what nodes read from the averages.

    Where nodes are sites, a site adds up its rows' features, and counts them. Where rows have
    weights, they are added up, and counted, as often as they count.
    """

    target = "mean"
    fusible = True

    def average(self, features: FloatArray) -> None:
        """Let nodes average these numbers of theirs, shape (n, components)."""
        self.features = features
        self.n, self.components = features.shape

    def average_rows(self, features: FloatArray) -> None:
        """Let nodes average these features of all rows, and count the rows where that is needed."""
        if self.is_counted:
            features = np.column_stack([features, np.ones(len(features))])
        if self.weights is not None:
            features *= self.weights[:, None]
        if self.site_of is not None:
            sums = np.zeros((int(self.site_of.max()) + 1, features.shape[1]))
            np.add.at(sums, self.site_of, features)
            features = sums
        self.average(features)

    @property
    def is_counted(self) -> bool:  # type: ignore[override]
        """Whether the last of the averages is how many rows there are."""
        return self.site_of is not None or self.weights is not None

    def means(self, averaged: FloatArray) -> FloatArray:
        """Return the mean features of a row that each node's averages tell."""
        return averaged[:, :-1] / averaged[:, -1:] if self.is_counted else averaged

    def own_values(self) -> FloatArray:
        """Return what each node starts from."""
        return self.features

    @property
    def init_arguments(self) -> tuple[Any, ...]:
        """What an algorithm as written begins with."""
        return (self.features,)

    @property
    def step_arguments(self) -> tuple[Any, ...]:
        """What its steps take besides the state and the exchanges: nothing."""
        return ()

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's estimate from its averages, shape (n, components)."""
        return averaged[:, 0]

    def linearized(self) -> tuple[FloatArray, float]:
        """Return the averaged numbers themselves."""
        return self.features[:, 0], 0.0


class Means(Averages):
    """One value per node, whose mean is sought; the counterpart of `Pairs` without pairs."""

    def __init__(self, data: Any) -> None:
        self.data = check_data(data)
        if self.data.ndim != 1:
            raise InputError(
                f"Gossip averaging takes one value per node, but the data has "
                f"{self.data.shape[1]} columns: choose one of them."
            )
        self.average(self.data[:, None])

    def exact(self, progress: Progress | None = None) -> float:
        """Return the mean."""
        return float(self.data.mean())
