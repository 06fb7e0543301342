// The curves of one or two runs: the measured ones, and those of theory.

import { formatNumber } from "../common/numbers.js";

const RUN_COLORS = ["--accent", "--second"];
const SAMPLING_COLOR = 3;
const ABOUT_ERROR = "error of averaging, by theory: its exact root mean square over all runs.";
const ABOUT_BIAS =
  "exact bias: size of the expected estimates' distance from the exact value; one run also has " +
  "its own randomness on top. The axis fits the measured error; a bound may lie above it.";

// runs: as set up; curves: their measured points; theory: of each run; frames: the newest of each.
export function plotRuns({ runs, curves, theory, frames }) {
  const isLearning = runs[0].kind === "learning";
  const lines = runs.flatMap((run, k) => {
    const measured = measure(run, curves[k] ?? [], frames[k]);
    const found = isLearning ? learningLines(measured) : errorLines(measured, run, theory[k]);
    const number = runs.length > 1 ? ` (${k + 1})` : "";
    return found.map((line) => ({ ...line, label: line.label + number, color: RUN_COLORS[k] }));
  });
  if (runs[0].sampling) lines.push(samplingLine(runs));
  return {
    lines,
    xLabel: "iterations (steps)",
    yLabel: isLearning ? "objective (mean loss over pairs)" : "error (units of the statistic)",
    xLog: true,
    yLog: true,
    last: lastStep(runs, frames),
  };
}

// Rounds go on for as long as they gain something.
function lastStep(runs, frames) {
  return Math.max(...runs.map((run, k) => run.checkpoints.at(-1) ?? frames[k]?.last ?? 1), 2);
}

// Curves by place in a point; where the run is ahead of its checkpoints, up to where it is now.
function measure(run, points, now) {
  const x = run.has_rounds
    ? points.map((point) => point.at(-1))
    : run.checkpoints.slice(0, points.length);
  const past = (place) => ({ x, y: points.map((point) => point[place]) });
  const live = (place, value) => {
    const { y } = past(place);
    const isAhead = now && now.done > (x.at(-1) ?? 0) && value !== null && value !== undefined;
    return isAhead ? { x: [...x, now.done], y: [...y, value] } : { x, y };
  };
  return { past, live, now };
}

function learningLines({ past, live, now }) {
  return [
    { label: "objective of the mean model", ...live(1, now?.objective), dash: "solid" },
    { label: "mean objective of nodes", ...past(0), dash: "dashed" },
  ];
}

function errorLines({ live, now }, run, theory) {
  const lines = [{ label: "error", ...live(0, now?.error), dash: "solid" }];
  const x = run.checkpoints;
  const known = [
    ["error of averaging, by theory", theory?.error, "dashed"],
    ["exact bias", theory?.expected_error, "dashed"],
    [`bound on the ${theory?.bound_on}`, theory?.bound, "dotted"],
  ];
  for (const [label, y, dash] of known) if (y) lines.push({ label, x, y, dash, aside: true });
  return lines;
}

// What lies below it hardly counts: these rows are further from the population.
function samplingLine(runs) {
  const { error } = runs[0].sampling;
  const x = [1, Math.max(...runs.map((run) => run.checkpoints.at(-1)))];
  const y = [error, error];
  const look = { dash: "dash-dotted", color: SAMPLING_COLOR };
  return { label: "sampling error", x, y, ...look, band: { x, low: [0, 0], high: y } };
}

function explainSampling({ sampling }) {
  if (!sampling) return "";
  const [low, high] = [sampling.low, sampling.high].map((end) => formatNumber(end));
  const level = formatNumber(100 * sampling.level);
  return (
    "Sampling error: how far these rows may be from the population they are drawn from, whose " +
    `value lies, by a ${level} % interval, between ${low} and ${high}. It falls with rows only, ` +
    "errors of gossip with messages; in the band these hardly count."
  );
}

export function explainCurves({ runs, theory }) {
  const texts = [explainTheory({ runs, theory }), explainSampling(runs[0])];
  return texts.filter(Boolean).join(" ");
}

function explainTheory({ runs, theory }) {
  const absent = [...new Set(theory.map((each) => each.absent).filter(Boolean))].join(" ");
  if (absent || runs[0].kind === "learning") return absent;
  if (!theory.length) return "Computing the exact expectation and the bound…";
  const texts = [theory.some((each) => each.error) ? ABOUT_ERROR : ""];
  if (theory.some((each) => each.expected_error)) texts.push(ABOUT_BIAS);
  return texts.filter(Boolean).join(" ");
}

// The bound over the measured value, or null.
export function boundRatio(theory, points) {
  if (!theory?.bound || !points?.length || theory.bound_on !== "error") return null;
  const measured = points.at(-1)[0];
  const bound = theory.bound[points.length - 1];
  return measured > 0 && bound !== null ? bound / measured : null;
}
