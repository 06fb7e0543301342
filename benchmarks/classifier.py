"""How good and how fast the default classifier is: against scikit-learn's and against scipy.

Held-out AUC of GossipAUCClassifier beside LogisticRegression(class_weight="balanced") on
standardized features, and beside L-BFGS-B of scipy on the same pairwise objective, over random
splits in two halves. It should not be below either by more than 0.003, and training on the smallest
and on the largest set should take at most 3 times as long as LogisticRegression, in processor time
on one core. Scipy goes over all pairs at every step, which are 156 million on the largest set:
there it is given the first splits only, and compared on these.

Run with ``python -m benchmarks.classifier``; add ``--splits 2`` for a look.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.timing import alternate, row
from pairgossip.arrays import FloatArray
from pairgossip.learn import GossipAUCClassifier

DIGITS = (3, 8, 9)
"""Each against the rest."""
TOLERATED, SLOWEST = 0.003, 3.0
_PAIRS_AT_ONCE = 100_000
_MANY_PAIRS = 10**8
_LARGEST_MARGIN = 500.0
"""Margins are clipped at minus this number; exponentials of lower ones could overflow."""

Data = tuple[FloatArray, FloatArray]
Train = Callable[[FloatArray, FloatArray], FloatArray]


def data_sets(largest: int) -> Iterator[tuple[str, Data]]:
    """Yield the sets by name; synthetic ones have at most this many rows."""
    yield "breast cancer, 569 x 30", load_breast_cancer(return_X_y=True)
    features, labels = load_digits(return_X_y=True)
    for digit in DIGITS:
        yield (
            f"digit {digit} against the rest, 1,797 x 64",
            (features, (labels == digit).astype(np.int64)),
        )
    for n, d, share in ((20_000, 20, 0.95), (50_000, 100, 0.5)):
        rows = min(n, largest)
        yield f"synthetic, {rows:,} x {d}, {share:.0%} negative", synthetic(rows, d, share)


def synthetic(n: int, d: int, share: float) -> Data:
    """Draw two classes that overlap; some features are informative, some redundant."""
    features, labels = make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 10, weights=[share], random_state=0
    )
    return features, labels


def gossip(features: FloatArray, labels: FloatArray) -> FloatArray:
    """Train with all defaults."""
    return np.asarray(GossipAUCClassifier().fit(features, labels).coef_[0])


def central(features: FloatArray, labels: FloatArray) -> FloatArray:
    """Train with all defaults except the weights of the classes and enough iterations."""
    model = LogisticRegression(class_weight="balanced", max_iter=1_000)
    return np.asarray(model.fit(features, labels).coef_[0])


def pairwise(features: FloatArray, labels: FloatArray) -> FloatArray:
    """Minimize the loss of all pairs, with the classifier's penalty, as scipy does it."""
    high, low = features[labels == 1], features[labels == 0]
    n, pairs = len(labels), len(high) * len(low)
    blocks = np.array_split(high, pairs // _PAIRS_AT_ONCE + 1)

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient, scores = float(theta @ theta) / (2 * n), theta / n, low @ theta
        for block in blocks:
            margins = (block @ theta)[:, None] - scores
            odds = np.exp(-np.maximum(margins, -_LARGEST_MARGIN))
            loss += float(np.log(1.0 + odds).sum()) / pairs
            slopes = odds / (1.0 + odds)
            gradient += (slopes.sum(axis=0) @ low - slopes.sum(axis=1) @ block) / pairs
        return loss, gradient

    start = np.zeros(features.shape[1])
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B").x)


def held_out_aucs(data: Data, train: Train, splits: int) -> FloatArray:
    """Train on one half, judge on the other, for every split."""
    aucs = []
    for seed in range(splits):
        seen, rest, labels, expected = train_test_split(
            *data, test_size=0.5, stratify=data[1], random_state=seed
        )
        scaler = StandardScaler().fit(seen)
        theta = train(scaler.transform(seen), labels)
        aucs.append(roc_auc_score(expected, scaler.transform(rest) @ theta))
    return np.array(aucs)


def compare_aucs(splits: int, brute: int, largest: int) -> None:
    """Print mean held-out AUCs, and how far the classifier is above the others."""
    print(row(f"held-out AUC, {splits} splits", "gossip", "LogisticR.", "scipy", "least gain"))
    for name, data in data_sets(largest):
        counts = np.bincount(data[1].astype(np.int64)) // 2
        few = brute if counts.prod() > _MANY_PAIRS else splits
        ours, theirs = (held_out_aucs(data, train, splits) for train in (gossip, central))
        exact = held_out_aucs(data, pairwise, few)
        gain = min((ours - theirs).mean(), (ours[:few] - exact).mean())
        verdict = f"{gain:+.4f}" + ("" if gain >= -TOLERATED else " too low")
        means = [f"{aucs.mean():.4f}" for aucs in (ours, theirs, exact)]
        means[2] += f" ({few})" if few < splits else ""
        print(row(name, *means, verdict), flush=True)


def compare_times(rounds: int, largest: int) -> None:
    """Print how long training takes on the smallest set and on the largest."""
    print(row("\nprocessor time of training", "gossip", "LogisticR.", "ratio", "goal"))
    first, *_, last = data_sets(largest)
    for (name, (features, labels)), times in ((first, 3 * rounds), (last, rounds)):
        scaled = StandardScaler().fit_transform(features)
        with threadpool_limits(1):
            ours, theirs = alternate(
                lambda x=scaled, y=labels: gossip(x, y),  # type: ignore[misc]
                lambda x=scaled, y=labels: central(x, y),  # type: ignore[misc]
                rounds=times,
                clock=time.process_time,
            )
        ratio = f"{ours / theirs:.1f} x"
        print(row(name, f"{ours:.3f} s", f"{theirs:.3f} s", ratio, f"{SLOWEST:.0f} x"))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=10, help="how many random splits")
    parser.add_argument(
        "--brute", type=int, default=2, help="splits with scipy where pairs are many"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often training is timed")
    parser.add_argument(
        "--largest", type=int, default=50_000, help="rows of synthetic sets, at most"
    )
    asked = parser.parse_args()
    compare_aucs(asked.splits, min(asked.brute, asked.splits), asked.largest)
    compare_times(asked.rounds, asked.largest)


if __name__ == "__main__":
    main()
