// What this peer has found by exchanging rows: its own estimate, which nobody else has or signs.

import { make } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";

export function describeOwn({ own }) {
  const estimate = own?.estimate ?? [];
  if (!estimate.length) return "";
  if (estimate.length > 1) return `own model of ${formatCount(estimate.length)} parameters`;
  return `own estimate ${formatNumber(estimate[0], 4)}`;
}

export function makeOwn({ own }) {
  const facts = [
    ["value of all rows, 95 %", formatEnds(own.gossip_interval)],
    ["population, 95 %", formatEnds(own.sampling_interval)],
    ["exchanges", formatCount(own.exchanges)],
    ["met rows of", `${own.met} of ${own.members} members, ${formatCount(own.rows)} rows in all`],
  ];
  const rows = facts.filter(([, said]) => said).map(makeRow);
  const note = "Other members' estimates differ by their errors, and nobody has signed this one.";
  const kind = own.is_final ? "final" : "so far, while rows travel";
  return [
    make("p", { class: "value", text: describeOwn({ own }) || "no estimate yet" }),
    make("p", { class: "note", text: kind }),
    make("table", { class: "facts" }, make("tbody", {}, ...rows)),
    make("p", { class: "note", text: note }),
  ];
}

function makeRow([name, said]) {
  return make("tr", {}, make("th", { scope: "row", text: name }), make("td", { text: said }));
}

function formatEnds(ends) {
  return ends ? ends.map((end) => formatNumber(end, 5)).join(" to ") : "";
}
