// A plot in words, for those who hear the page instead of seeing it.

import { formatNumber } from "./numbers.js";

const MOST_LINES = 12;

// lines: those that are shown, as a Plot is given them.
export function describePlot({ lines, xLabel, yLabel, yTicks }) {
  const axes = [yLabel, xLabel && `by ${xLabel}`].filter(Boolean).join(" ");
  const all = lines.map((line) => describeLine(line, yTicks)).filter(Boolean);
  const more = all.length > MOST_LINES ? `; and ${all.length - MOST_LINES} more` : "";
  const said = all.length ? `${all.slice(0, MOST_LINES).join("; ")}${more}` : "nothing yet";
  return `Plot of ${axes || "curves"}: ${said}.`;
}

// Where a curve begins and ends.
function describeLine({ label, y }, yTicks) {
  const known = y.filter((value) => Number.isFinite(value));
  if (!known.length) return "";
  if (yTicks) return `${label}, ${known.length} points`;
  const [first, last] = [known[0], known.at(-1)].map((value) => formatNumber(value, 3));
  return known.length === 1 || first === last ? `${label} ${last}` : `${label} ${first} to ${last}`;
}
