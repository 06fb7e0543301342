"""Compiled loops of estimation: first those that do not know the kernel, then those that do.

All functions are at module level with plain arguments: their compiled code is stored on disk and
reused by the next process. Everything inside a loop is inlined, because passing ``rows`` to a
function that is not inlined costs more than the arithmetic. The compiler knows the length of
tuples.

Loops that do not know the kernel take the values of new pairs; ``components`` is a tuple with one
entry per component kernel, K in all. The others have the built-in kernels inside, selected by
their numbers, ``formulas``. There a row of ``rows`` is one node: its observation, its auxiliary
observation, one sum per component kernel, and the number of the last update in these sums.
``columns`` is the number of columns of an observation, or None for one: numba prunes branches on
None, so the common case of one column compiles to code without column loops. The time to compile
grows with the copies of a kernel's code: every loop has one copy, in a branch that is pruned before
anything is inlined, and loops over the nodes of an exchange. LLVM, not numba, inlines the kernels
on several columns, which halves the time to compile and costs nothing beside their arithmetic;
kernels on one column would take twice as long that way.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.loops import average_at, ends, inlined, inlined_by_llvm, loop
from pairgossip.inference import row_products
from pairgossip.kernels.builtin import classes, ranks, spread

VARIANCE = spread.VARIANCE.number
GINI = spread.GINI.number
DISTANCE = spread.DISTANCE.number
KENDALL = ranks.KENDALL.number
CONCORDANT = ranks.CONCORDANT.number
COMPARABLE = ranks.COMPARABLE.number
AUC_ORDERED = classes.AUC_ORDERED.number
AUC_COMPARED = classes.AUC_COMPARED.number
RANKING_RISK = ranks.RANKING_RISK.number
SCATTER_SQUARED = spread.SCATTER_SQUARED.number
SCATTER_PLAIN = spread.SCATTER_PLAIN.number
MIDPOINT = spread.MIDPOINT.number
FIRST_APART = ranks.FIRST_APART.number
SECOND_APART = ranks.SECOND_APART.number
BOTH_APART = ranks.BOTH_APART.number
SECOND_AUC_ORDERED = classes.SECOND_AUC_ORDERED.number
COMPILED = frozenset({
    VARIANCE, GINI, DISTANCE, KENDALL, CONCORDANT, COMPARABLE, AUC_ORDERED, AUC_COMPARED,
    RANKING_RISK, SCATTER_SQUARED, SCATTER_PLAIN, MIDPOINT, FIRST_APART, SECOND_APART, BOTH_APART,
    SECOND_AUC_ORDERED, spread.METRIC_LEARNING_RISK.number,
})  # fmt: skip
"""The formulas that are evaluated below; other numbers would be mistaken for one of them."""


@loop
def walk(exchanges, held, nodes, tokens):  # type: ignore[no-untyped-def]
    """Swap along a block of exchanges; write the two new (node, token) pairs of each."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        to_i = held[j]
        to_j = held[i]
        held[i] = to_i
        held[j] = to_j
        nodes[0, s] = i
        nodes[1, s] = j
        tokens[0, s] = to_i
        tokens[1, s] = to_j


@loop
def walk_twice(exchanges, others, first, second, nodes, firsts, seconds):  # type: ignore[no-untyped-def]
    """Swap two walks along their own exchanges; write the pairs of the four nodes touched."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        k, m = ends(others, s)
        first[i], first[j] = first[j], first[i]
        second[k], second[m] = second[m], second[k]
        nodes[0, s] = i
        nodes[1, s] = j
        nodes[2, s] = k
        nodes[3, s] = m
        for row in range(4):
            firsts[row, s] = first[nodes[row, s]]
            seconds[row, s] = second[nodes[row, s]]


@loop
def accumulate(rows, components, nodes, values, start, averages):  # type: ignore[no-untyped-def]
    """Bring the touched nodes' sums up to date, set their new values, and average if asked.

    A row is one node: K sums, its K current values, and the last update included in the sums.
    ``values`` has shape (touched per iteration, block, K); ``start`` is the number of updates
    that precede the first exchange.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        for touched in range(nodes.shape[0]):
            p = np.uint64(nodes[touched, s])
            elapsed = start + s - rows[p, 2 * K]
            rows[p, 2 * K] = start + s
            for c in range(K):
                rows[p, c] += elapsed * rows[p, K + c]
                rows[p, K + c] = values[touched, s, c]
        if averages:
            i = np.uint64(nodes[0, s])
            j = np.uint64(nodes[1, s])
            for c in range(K):
                average_at(rows, i, j, c)


@loop
def fold(rows, components, nodes, values):  # type: ignore[no-untyped-def]
    """Run GoSta-async: both nodes average once, then fold in their new values.

    A row is one node: K estimates, and in the last place the number of picks.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        rows[i, 2 * K] += 1
        rows[j, 2 * K] += 1
        share_i = 1 / rows[i, 2 * K]
        share_j = 1 / rows[j, 2 * K]
        for c in range(K):
            mean = (rows[i, c] + rows[j, c]) / 2
            rows[i, c] = (1 - share_i) * mean + share_i * values[0, s, c]
            rows[j, c] = (1 - share_j) * mean + share_j * values[1, s, c]


@loop
def fold_weighted(rows, components, nodes, values):  # type: ignore[no-untyped-def]
    """Run weighted GoSta: both nodes average once, then add their new value and its weight.

    A row is one node: K sums of weighted values, the sum of weights, and the node's own weight.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        weight_i = rows[i, K + 1]
        weight_j = rows[j, K + 1]
        mean = (rows[i, K] + rows[j, K]) / 2
        rows[i, K] = mean + weight_i
        rows[j, K] = mean + weight_j
        for c in range(K):
            mean = (rows[i, c] + rows[j, c]) / 2
            rows[i, c] = mean + weight_i * values[0, s, c]
            rows[j, c] = mean + weight_j * values[1, s, c]


@loop
def track(rows, components, nodes, values, relaxation):  # type: ignore[no-untyped-def]
    """Run tracking: both nodes add the change of their own mean to their estimate, then average.

    A row is one node: K estimates, K means of its own values, and the number of picks.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        rows[i, 2 * K] += 1
        rows[j, 2 * K] += 1
        for c in range(K):
            change_i = (values[0, s, c] - rows[i, K + c]) / rows[i, 2 * K]
            change_j = (values[1, s, c] - rows[j, K + c]) / rows[j, 2 * K]
            rows[i, K + c] += change_i
            rows[j, K + c] += change_j
            rows[i, c] += change_i
            rows[j, c] += change_j
            _relax(rows, i, j, c, relaxation)


@inlined
def _relax(rows, i, j, c, relaxation):  # type: ignore[no-untyped-def]
    """Move two estimates toward, or past, each other."""
    z_i = rows[i, c]
    z_j = rows[j, c]
    if relaxation == 0.5:  # as `algorithms.steps.relax` does, to the last bit
        rows[i, c] = (z_i + z_j) / 2
        rows[j, c] = rows[i, c]
    else:
        step = relaxation * (z_j - z_i)
        rows[i, c] = z_i + step
        rows[j, c] = z_j - step


@loop
def crossings(exchanges, site_of):  # type: ignore[no-untyped-def]
    """Count the exchanges between nodes of different sites."""
    count = 0
    for s in range(exchanges.shape[0]):
        here = site_of[np.uint64(exchanges[s, 0])]
        there = site_of[np.uint64(exchanges[s, 1])]
        count += here != there
    return count


@inlined_by_llvm
def _squared_distance(rows, k, d, features):  # type: ignore[no-untyped-def]
    """Return the squared distance of the first ``features`` columns of the pair in row ``k``."""
    total = 0.0
    for c in range(features):
        total += (rows[k, c] - rows[k, d + c]) ** 2
    return total


@inlined_by_llvm
def _outcome_step(rows, k, d):  # type: ignore[no-untyped-def]
    """Return the sign of the difference of outcomes (column 1), or 0.

    It is 0 unless the smaller outcome is an event (column 2). A censored outcome is known to exceed
    an event at the same time.
    """
    step = np.sign(rows[k, 1] - rows[k, d + 1])
    if d == 2:
        return step
    if step == 0:
        return rows[k, d + 2] - rows[k, 2]
    return step * (rows[k, 2] if step < 0 else rows[k, d + 2])


@inlined_by_llvm
def labeled_value(formula, parameter, rows, k, d):  # type: ignore[no-untyped-def]
    """Return the value of a kernel on two or more columns, whose last one is often a label."""
    if formula == DISTANCE:
        return np.sqrt(_squared_distance(rows, k, d, d))
    step = rows[k, 0] - rows[k, d]
    label_step = rows[k, d - 1] - rows[k, 2 * d - 1]
    if formula == KENDALL:
        return np.sign(step) * np.sign(label_step)
    if formula == RANKING_RISK:
        return 1.0 if np.sign(step) * np.sign(label_step) < 0 else 0.0
    if formula == AUC_COMPARED:
        return 1.0 if label_step > 0 else 0.0
    if formula == FIRST_APART:
        return 1.0 if step != 0 else 0.0
    if formula == SECOND_APART:
        return 1.0 if label_step != 0 else 0.0
    if formula == BOTH_APART:
        return 1.0 if step != 0 and label_step != 0 else 0.0
    if formula in (AUC_ORDERED, SECOND_AUC_ORDERED):
        if formula == SECOND_AUC_ORDERED:
            step = rows[k, 1] - rows[k, d + 1]
        if label_step <= 0 or step < 0:
            return 0.0
        return 1.0 if step > 0 else parameter
    if formula in (COMPARABLE, CONCORDANT):
        outcome_step = _outcome_step(rows, k, d)
        if outcome_step == 0:
            return 0.0
        if formula == COMPARABLE:
            return 1.0
        if step == 0:
            return parameter
        return 1.0 if (step > 0) == (outcome_step > 0) else 0.0
    if formula in (SCATTER_SQUARED, SCATTER_PLAIN) and label_step != 0:
        return 0.0
    squared = _squared_distance(rows, k, d, d - 1)
    if formula == SCATTER_SQUARED:
        return squared
    distance = np.sqrt(squared)
    if formula == SCATTER_PLAIN:
        return distance
    side = 1.0 if label_step == 0 else -1.0  # metric-learning risk
    return max(0.0, 1 - (parameter - distance) * side)


@inlined
def number_value(formula, first, second):  # type: ignore[no-untyped-def]
    """Return the value of a kernel of two numbers."""
    if formula == MIDPOINT:
        return (first + second) / 2
    step = first - second
    return 0.5 * step * step if formula == VARIANCE else abs(step)


@loop
def one_walk(rows, columns, formulas, parameters, exchanges, start, averages):  # type: ignore[no-untyped-def]
    """Run GoSta-sync (``averages``) or U1-gossip; ``start``: updates before the first exchange."""
    d = 1 if columns is None else columns
    last = 2 * d + len(formulas)
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for node in (i, j):
            # Add what the unchanged pair contributed since the sums were last touched.
            elapsed = start + s - rows[node, last]
            rows[node, last] = start + s
            for c in range(len(formulas)):
                if columns is None:
                    value = number_value(formulas[c], rows[node, 0], rows[node, 1])
                else:
                    value = labeled_value(formulas[c], parameters[c], rows, node, columns)
                rows[node, 2 * d + c] += elapsed * value
        if averages:
            for c in range(2 * d, last):
                average_at(rows, i, j, c)
        for c in range(d, 2 * d):
            rows[i, c], rows[j, c] = rows[j, c], rows[i, c]


@loop
def two_walks(rows, columns, formulas, parameters, exchanges, others, start):  # type: ignore[no-untyped-def]
    """Run U2-gossip: two auxiliary observations per node, each on its own walk."""
    d = 1 if columns is None else columns
    last = 2 * d + len(formulas)
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        k, m = ends(others, s)
        # A node in both exchanges is updated twice; the second time adds nothing.
        for node in (i, j, k, m):
            # Add what the unchanged pair contributed since the sums were last touched.
            elapsed = start + s - rows[node, last]
            rows[node, last] = start + s
            for c in range(len(formulas)):
                if columns is None:
                    value = number_value(formulas[c], rows[node, 0], rows[node, 1])
                else:
                    value = labeled_value(formulas[c], parameters[c], rows, node, columns)
                rows[node, 2 * d + c] += elapsed * value
        for c in range(d):
            rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
        for c in range(d, 2 * d):
            rows[k, c], rows[m, c] = rows[m, c], rows[k, c]


@loop
def gosta_async(rows, columns, formulas, parameters, exchanges):  # type: ignore[no-untyped-def]
    """Run GoSta-async: the last two parts of a row are estimates and the number of picks."""
    d = 1 if columns is None else columns
    picks = 2 * d + len(formulas)
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(d, 2 * d):
            rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
        rows[i, picks] += 1
        rows[j, picks] += 1
        for c in range(len(formulas)):
            z = 2 * d + c
            mean = (rows[i, z] + rows[j, z]) / 2
            for node in (i, j):
                if columns is None:
                    value = number_value(formulas[c], rows[node, 0], rows[node, 1])
                else:
                    value = labeled_value(formulas[c], parameters[c], rows, node, columns)
                share = 1 / rows[node, picks]
                rows[node, z] = (1 - share) * mean + share * value


@loop
def tracking(rows, columns, formulas, parameters, exchanges, relaxation):  # type: ignore[no-untyped-def]
    """Run tracking: after the estimates of a row are the number of picks and the own means."""
    d = 1 if columns is None else columns
    picks = 2 * d + len(formulas)
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(d, 2 * d):
            rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
        rows[i, picks] += 1
        rows[j, picks] += 1
        for c in range(len(formulas)):
            own = picks + 1 + c
            for node in (i, j):
                if columns is None:
                    value = number_value(formulas[c], rows[node, 0], rows[node, 1])
                else:
                    value = labeled_value(formulas[c], parameters[c], rows, node, columns)
                change = (value - rows[node, own]) / rows[node, picks]
                rows[node, own] += change
                rows[node, 2 * d + c] += change
            _relax(rows, i, j, 2 * d + c, relaxation)


@loop
def weighted_gosta(rows, columns, formulas, parameters, exchanges):  # type: ignore[no-untyped-def]
    """Run weighted GoSta: after the sums of a row are the sum of weights and the own weight."""
    d = 1 if columns is None else columns
    total = 2 * d + len(formulas)
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(d, 2 * d):
            rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
        mean = (rows[i, total] + rows[j, total]) / 2
        rows[i, total] = mean + rows[i, total + 1]
        rows[j, total] = mean + rows[j, total + 1]
        for c in range(len(formulas)):
            z = 2 * d + c
            mean = (rows[i, z] + rows[j, z]) / 2
            for node in (i, j):
                if columns is None:
                    value = number_value(formulas[c], rows[node, 0], rows[node, 1])
                else:
                    value = labeled_value(formulas[c], parameters[c], rows, node, columns)
                rows[node, z] = mean + rows[node, total + 1] * value


@loop
def sums_at(rows, columns, formulas, parameters, now, sums):  # type: ignore[no-untyped-def]
    """Read every node's sums as of ``now`` without touching the rows."""
    d = 1 if columns is None else columns
    for k in range(rows.shape[0]):
        elapsed = now - rows[k, 2 * d + len(formulas)]
        for c in range(len(formulas)):
            if columns is None:
                value = number_value(formulas[c], rows[k, 0], rows[k, 1])
            else:
                value = labeled_value(formulas[c], parameters[c], rows, k, columns)
            sums[k, c] = rows[k, 2 * d + c] + elapsed * value


track_products = loop(row_products.advance)
"""Averages the products of rows' half means along their changes."""
