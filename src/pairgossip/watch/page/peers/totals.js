// The tiles above the table: the results and exchanges of all peers together.

import { make } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";

const AWAY = ["starting", "frozen", "down", "stopped", "evicted", "unclear", "absent"];

// One tile per total; exact: the value that all should find, or null.
export function makeTotals(look, exact) {
  const refused = ["refused frames", formatCount(look.refused), "by all peers"];
  const tiles = look.study
    ? [...describeStudy(look.study), refused]
    : [...describeExchange(look, exact), refused, describeGeneration(look)];
  return [countPeers(look.peers), ...tiles].map(makeTile);
}

function describeExchange(look, exact) {
  // What evicted peers and those of an earlier generation say is about something else.
  const present = look.peers.filter(
    (peer) => peer.state !== "evicted" && peer.generation === look.generation,
  );
  const known = present.map((peer) => peer.estimate).filter((value) => value !== null);
  const mean = averageEstimate(known);
  const made = [
    "exchanges",
    formatCount(look.exchanges),
    `${formatNumber(look.rate, 3)} per second`,
  ];
  if (exact === null) return [mean, made];
  return [mean, ["exact value", formatNumber(exact, 6), aboutFarthest(known, exact)], made];
}

function describeStudy({ tally, members }) {
  const { answered, open, ended } = tally;
  const ends = ended ? `, ${formatCount(ended)} ended without an answer` : "";
  return [
    ["members", formatCount(members), "on the list that most have"],
    ["questions answered", formatCount(answered), `${formatCount(open)} open${ends}`],
  ];
}

function describeGeneration({ generation }) {
  const about = generation > 1 ? "members or rows have changed" : "the first";
  return ["generation", formatCount(generation), about];
}

function makeTile([label, value, more]) {
  const detail = make("dd", {}, make("strong", { text: value }), make("span", { text: more }));
  return make("div", { "data-total": label }, make("dt", { text: label }), detail);
}

function countPeers(peers) {
  const [up, ...away] = listStates(peers);
  return ["peers", up, away.join(", ") || "all of them"];
}

export function countStates(peers) {
  return listStates(peers).join(", ");
}

function listStates(peers) {
  const count = (state) => peers.filter((peer) => peer.state === state).length;
  return ["up", ...AWAY.filter(count)].map((state) => `${count(state)} ${state}`);
}

function averageEstimate(known) {
  if (!known.length) return ["mean estimate", "–", "none yet"];
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const [low, high] = [Math.min(...known), Math.max(...known)].map((value) => formatNumber(value));
  return ["mean estimate", formatNumber(mean, 6), `from ${low} to ${high}`];
}

function aboutFarthest(known, exact) {
  if (!known.length || !exact) return "";
  const worst = Math.max(...known.map((value) => Math.abs(value - exact))) / Math.abs(exact);
  return `farthest peer ${formatNumber(100 * worst, 3)} % off`;
}
