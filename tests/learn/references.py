"""Data sets split in two, and pairwise logistic regression by scipy with all data in one place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pairgossip.arrays import FloatArray
from pairgossip.datasets.dataset import breast_cancer_wisconsin


class Split(NamedTuple):
    """Features and labels for training, then for testing; features standardized."""

    seen: FloatArray
    seen_labels: FloatArray
    held_out: FloatArray
    held_out_labels: FloatArray


def original_wisconsin() -> tuple[FloatArray, FloatArray]:
    return breast_cancer_wisconsin()


def diagnostic_wisconsin() -> tuple[FloatArray, FloatArray]:
    features, labels = load_breast_cancer(return_X_y=True)
    return features, labels


def three_or_eight() -> tuple[FloatArray, FloatArray]:
    features, labels = load_digits(return_X_y=True)
    chosen = (labels == 3) | (labels == 8)
    return features[chosen], (labels[chosen] == 8).astype(float)


def split(features: FloatArray, labels: FloatArray, seed: int) -> Split:
    seen, held_out, seen_labels, held_out_labels = train_test_split(
        features, labels, test_size=0.3, random_state=seed, stratify=labels
    )
    scaler = StandardScaler().fit(seen)
    return Split(scaler.transform(seen), seen_labels, scaler.transform(held_out), held_out_labels)


def pairwise_logistic_regression(
    features: FloatArray, labels: FloatArray, l2: float = 0.0
) -> FloatArray:
    """Minimize the mean of 1{y > y'} log(1 + exp(-theta . (x - x'))) plus l2 ||theta||^2."""
    high, low, pairs = features[labels == 1], features[labels == 0], len(labels) ** 2

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        margins = (high @ theta)[:, None] - (low @ theta)[None, :]
        slopes = -1.0 / (1.0 + np.exp(np.minimum(margins, 500.0)))
        gradient = high.T @ slopes.sum(axis=1) - low.T @ slopes.sum(axis=0)
        loss = float(np.logaddexp(0.0, -margins).sum()) / pairs
        return loss + l2 * float(theta @ theta), gradient / pairs + 2 * l2 * theta

    start = np.zeros(features.shape[1])
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B").x)
