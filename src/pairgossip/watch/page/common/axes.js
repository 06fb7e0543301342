// The axes of a plot: places and labels of ticks, and the range of an axis.

import { themeColor } from "./elements.js";
import { formatNumber, superscript } from "./numbers.js";

const MOST_LABELS = 7;
const FONT = "12px system-ui, sans-serif";

// The settings of one axis; ticks: [[where, name], ...] instead of numbers.
export function makeAxis({ label, log, ticks, size, space }) {
  return {
    label,
    labelSize: label ? 22 : 4,
    size,
    space,
    stroke: themeColor("--soft"),
    font: FONT,
    labelFont: FONT,
    grid: { stroke: themeColor("--line"), width: 1 },
    ticks: { stroke: themeColor("--line"), width: 1 },
    ...chooseTicks(log, ticks),
  };
}

function chooseTicks(log, ticks) {
  if (ticks) return nameTicks(ticks);
  if (log) return { values: formatLogTicks, splits: placeLogTicks, filter: (_, splits) => splits };
  return { values: (_, splits) => splits.map((value) => formatNumber(value, 6)) };
}

// Reports break names into lines; on a screen, two lines would run into the next name.
const joinLines = (name) => name.replaceAll("\n", ", ");

// How wide a vertical axis must be for the names beside it.
export function measureNames(ticks) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = FONT;
  const widths = ticks.map(([, name]) => context.measureText(joinLines(name)).width);
  return Math.ceil(Math.max(...widths)) + 20;
}

function nameTicks(ticks) {
  const names = new Map(ticks.map(([at, name]) => [at, joinLines(name)]));
  return {
    splits: () => ticks.map(([at]) => at),
    values: (_, splits) => splits.map((at) => names.get(at) ?? ""),
  };
}

// Powers of ten, as many as there is room for; multiples of them where there are few.
function placeLogTicks(_, __, low, high) {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  const step = Math.max(1, Math.ceil((to - from) / MOST_LABELS));
  const found = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power += 1) {
    if (step > 1 && ((power % step) + step) % step) continue;
    for (const factor of chooseFactors(to - from)) {
      found.push(Number((factor * 10 ** power).toPrecision(3)));
    }
  }
  return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

function chooseFactors(decades) {
  if (decades < 0.8) return [1, 1.5, 2, 3, 4, 5, 6, 8];
  return decades < 2.5 ? [1, 2, 5] : [1];
}

function formatLogTicks(_, splits) {
  return splits.map((value) => {
    const power = Math.floor(Math.log10(value) + 1e-9);
    if (power >= -2 && power <= 4) {
      return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 4 });
    }
    const factor = Number((value / 10 ** power).toPrecision(2));
    return `${factor === 1 ? "" : `${factor}·`}10${superscript(power)}`;
  });
}

// A little more than the values, on a logarithmic axis.
export function widenLog(low, high) {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  const room = Math.max(0.06 * (to - from), 0.08);
  return [10 ** (from - room), 10 ** (to + room)];
}

// A share more than the values, on a linear axis; a single value still gets an axis around it.
export function widen(low, high, share) {
  const room = high > low ? share * (high - low) : Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}
