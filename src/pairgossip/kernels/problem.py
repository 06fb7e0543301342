"""The statistic that a network estimates, as engines, plans, theory and results see it."""

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

    All other parts of the package read the facts of a problem here. By default a problem has no
    numbers that must spread first, no privacy, and no sketch. Only the problem of a trial knows the
    numbers that nodes add, as private problems draw reports for every trial.

    Attributes
    ----------
    n
        The number of nodes.
    data
        All observations, one row each.
    kernel, components
        The kernel or combination that is averaged over pairs, None without pairs, and the number of
        numbers that a pair adds or a node averages.
    target, scale
        The kind of statistic, such as "v" or "u", and its factor.
    """

    n: int
    data: FloatArray
    kernel: AnyKernel | None = None
    components: int
    target: str
    scale: float
    features: FloatArray
    """The first values of each node, shape (n, components), where nodes average without pairs."""
    title = ""
    """The name of the statistic, where it is not the mean of the kernel."""
    dimension = 0
    """The count of numbers in one observation, where observations travel."""
    fusible = False
    """Whether compiled code may work on `data`, or on the averaged values, itself."""
    step_options: Mapping[str, Any] = MappingProxyType({})
    """Further arguments for the steps of its method."""
    holders: IntArray = np.arange(0)
    """The nodes that hold the numbers that all must learn before they know their features."""
    site_of: IntArray | None = None
    """The site of every row, where nodes are sites."""
    is_counted = False
    """Whether the last of the averages is the number of rows."""
    set_sizes: IntArray | None = None
    """The number of rows of each site, where sites pass on all their rows at once."""
    weights: FloatArray | None = None
    """The weight of each row; None for 1."""
    classes: IntArray | None = None
    """The class of every row, where two classes are compared."""
    mechanism: RandomizedResponse | None = None
    """The randomized response, where nodes see reports only."""
    sketch_name: str | None = None
    """The sketch whose features nodes average."""
    limit = math.nan
    """The value to which nodes converge, where they average a sketch."""

    @property
    def name(self) -> str:
        """The name of the statistic in results; empty for a plain mean."""
        return self.title or ("" if self.kernel is None else self.kernel.name)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels whose values pairs add."""
        return () if self.kernel is None else self.kernel.components

    @property
    def own_share(self) -> FloatArray | float:
        """The part of a row's pair with itself that counts, for every row."""
        return 1.0

    # The target

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""
        raise NotImplementedError

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the numbers that pairs of nodes add for one component, averaged over trials."""
        raise NotImplementedError

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        raise NotImplementedError

    def expected(self) -> Problem:
        """Return the problem of the expected numbers that nodes average or add."""
        return self

    def linearized(self) -> tuple[FloatArray, float]:
        """Return numbers that average like the estimates converge, and the error that remains.

        To first order a node's error is that of averaging these numbers, one per node.
        """
        raise NotImplementedError

    # A trial, and the arguments of algorithms

    def for_trial(self, seed: SeedSequence) -> Problem:
        """Return the problem of one trial: itself where nothing in it is random."""
        return self

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return the number that each node adds for its held observation, shape (m, components).

        The average over all n^2 ordered pairs of nodes is the target.
        """
        raise NotImplementedError

    def own_values(self) -> FloatArray:
        """Return the values of nodes before they meet others, shape (n, components)."""
        everyone = np.arange(self.n, dtype=np.intp)
        return self.values(everyone, everyone)

    @property
    def init_arguments(self) -> tuple[Any, ...]:
        """The arguments with which an algorithm as written begins."""
        return self.n, self.components

    @property
    def step_arguments(self) -> tuple[Any, ...]:
        """The arguments of its steps besides the state and the exchanges."""
        return (self.values,)

    @property
    def why_not_fused(self) -> str:
        """The reason why compiled code cannot work on the data, where it cannot."""
        return (
            "Engine 'fused' compiles the kernel of two single observations, but nodes evaluate "
            "other data here"
        )

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's estimate from its averages, shape (n, components)."""
        assert self.kernel is not None
        return self.kernel.combine(averaged)

    # Errors

    @property
    def visible_pairs(self) -> Pairs | None:
        """The pairs of rows as nodes see them, for errors computed by nodes with all rows."""
        return None

    @property
    def positive(self) -> str | None:
        """The name of the positive class in results; None where there is none."""
        return None

    @property
    def freedom(self) -> float:
        """The degrees of freedom of a sampling error: the rows of the smaller class minus one."""
        of = np.zeros(self.n, dtype=np.intp) if self.classes is None else self.classes
        return float(np.bincount(of, self.weights).min() - 1)

    @property
    def interval_scale(self) -> Scale:
        """The scale on which intervals are symmetric."""
        return "plain" if self.kernel is None else self.kernel.interval_scale

    def check_interval(self) -> None:
        """Raise `InputError` if reports are too noisy for intervals at their level."""

    def predicted_error(self, exact: float | FloatArray) -> PrivacyError | None:
        """Predict the error of the statistic of private reports."""
        return None

    def sampling(self, averaged: FloatArray, level: float) -> Sampling | None:
        """Return the sampling errors that nodes compute from their averages, or None."""
        return None

    def null_errors(self, averaged: FloatArray, test: NodeTest) -> FloatArray:
        """Return each node's standard error without an effect, from its averages."""
        return test.errors(averaged, None)

    @property
    def ties_known(self) -> bool | None:
        """Whether nodes know which rows are tied; None where nodes average no cells."""
        return None

    def tie_sizes(self, averaged: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the numbers of rows that each node takes for tied, in either column."""
        return None

    # Sites and sketches

    def at_sites(self, site_of: IntArray) -> Problem:
        """Return the problem of sites that swap all their rows at once."""
        raise NotImplementedError

    def report_shares(self, site_of: IntArray | None) -> Problem:
        """Return the problem of averaging the shares of the reports."""
        raise NotImplementedError

    @property
    def bracket(self) -> tuple[float, float] | None:
        """The interval that certainly holds the statistic; None if there is none."""
        return None

    def limit_error(self, level: float) -> float | None:
        """Return the sampling error to which nodes converge, for intervals at a level."""
        return None

    def limit_law(self, freedom: float) -> Law | None:
        """Return the law of the statistic over its error, where nodes know more than freedom."""
        return None


# Values that nodes have from the start, and their mean: the separable problem.


class Averages(Problem):
    """Values averaged by classic gossip, without pairs, and estimates from the averages.

    Where nodes are sites, a site adds up its rows' features, and counts the rows. Where rows have
    weights, both sums are weighted.
    """

    target = "mean"
    fusible = True

    def average(self, features: FloatArray) -> None:
        """Set the numbers that nodes average, shape (n, components)."""
        self.features = features
        self.n, self.components = features.shape

    def average_rows(self, features: FloatArray) -> None:
        """Set the features of rows that nodes average, with counts of rows where needed."""
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
        """Whether the last of the averages is the number of rows."""
        return self.site_of is not None or self.weights is not None

    def means(self, averaged: FloatArray) -> FloatArray:
        """Return the mean features of a row, from each node's averages."""
        return averaged[:, :-1] / averaged[:, -1:] if self.is_counted else averaged

    def own_values(self) -> FloatArray:
        """Return the first values of each node."""
        return self.features

    @property
    def init_arguments(self) -> tuple[Any, ...]:
        """The arguments with which an algorithm as written begins."""
        return (self.features,)

    @property
    def step_arguments(self) -> tuple[Any, ...]:
        """The arguments of its steps besides the state and the exchanges: none."""
        return ()

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's estimate from its averages, shape (n, components)."""
        return averaged[:, 0]

    def linearized(self) -> tuple[FloatArray, float]:
        """Return the averaged numbers themselves, and no error."""
        return self.features[:, 0], 0.0


class Means(Averages):
    """One value per node, whose mean is estimated; the counterpart of `Pairs` without pairs."""

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
