// The tiles above the table: what all peers have found and done together.

import { make } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";

const AWAY = ["starting", "frozen", "down", "stopped", "evicted", "unclear"];

// One tile per total; exact: the value that all should find, or null.
export function makeTotals(look, exact) {
  // What evicted peers and those of an earlier generation say is about something else.
  const present = look.peers.filter(
    (peer) => peer.state !== "evicted" && peer.generation === look.generation,
  );
  const known = present.map((peer) => peer.estimate).filter((value) => value !== null);
  const isLater = look.generation > 1;
  const own = look.rounds
    ? [countRounds(look), describeResult(look.result)]
    : [
        averageEstimate(known),
        ["exchanges", formatCount(look.exchanges), `${formatNumber(look.rate, 3)} per second`],
      ];
  const tiles = [
    countPeers(look.peers),
    ...own,
    ["refused frames", formatCount(look.refused), "by all peers"],
    [
      "generation",
      formatCount(look.generation),
      isLater ? "members or rows have changed" : "the first",
    ],
  ];
  if (exact !== null) {
    const place = look.rounds ? 3 : 2;
    const farthest = aboutFarthest(known, exact, look.rounds ? "result" : "farthest peer");
    tiles.splice(place, 0, ["exact value", formatNumber(exact, 6), farthest]);
  }
  return tiles.map(makeTile);
}

function makeTile([label, value, more]) {
  const detail = make("dd", {}, make("strong", { text: value }), make("span", { text: more }));
  return make("div", { "data-total": label }, make("dt", { text: label }), detail);
}

function countPeers(peers) {
  const count = (state) => peers.filter((peer) => peer.state === state).length;
  const away = AWAY.filter(count).map((state) => `${count(state)} ${state}`);
  return ["peers", `${count("up")} up`, away.join(", ") || "all of them"];
}

function countRounds({ rounds, peers }) {
  const ended = rounds.filter(({ held, members }) => held >= members).length;
  const most = Math.max(...peers.map((peer) => peer.rounds?.most ?? 0));
  const isFinished = peers.some((peer) => peer.rounds?.is_finished);
  const more = isFinished ? "all of them" : `of ${formatCount(most)} at most`;
  return ["rounds complete", formatCount(ended), more];
}

function describeResult(result) {
  if (!result) return ["result", "–", "not all members have contributed yet"];
  const signed = result.rounds.is_finished ? "signed by all members" : "not signed by all yet";
  const value = result.parameters ? "a model" : formatNumber(result.estimate, 6);
  return ["result", value, signed];
}

function averageEstimate(known) {
  if (!known.length) return ["mean estimate", "–", "none yet"];
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const [low, high] = [Math.min(...known), Math.max(...known)].map((value) => formatNumber(value));
  return ["mean estimate", formatNumber(mean, 6), `from ${low} to ${high}`];
}

function aboutFarthest(known, exact, who) {
  if (!known.length || !exact) return "";
  const worst = Math.max(...known.map((value) => Math.abs(value - exact))) / Math.abs(exact);
  return `${who} ${formatNumber(100 * worst, 3)} % off`;
}
