// The numbers beside a picture.

import { make } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";

// The first of each is the one to watch.
const ESTIMATION = [
  ["error", "error", "root mean square over the nodes of estimate minus exact value"],
  ["mean", "mean estimate", "mean over the nodes of their estimates"],
  ["exact", "exact value", "what all estimates converge to"],
  ["sampling", "sampling error", "how far these rows may be from the population, by chance"],
  ["spread", "spread", "standard deviation of the estimates over the nodes"],
  ["exchanges", "exchanges", "how often two nodes have met"],
  ["messages", "messages", "two per exchange, three where rows are collected, one along a tree"],
  ["bytes", "bytes sent", "rows and numbers in all messages, 8 bytes a number"],
  ["ratio", "bound / measured", "how many times larger the bound is than what was measured"],
];
const LEARNING = [
  ["objective", "objective", "mean loss over all pairs, of the network's mean model"],
  ["of_nodes", "of single nodes", "mean objective of single nodes' models, at the last checkpoint"],
  ["spread", "disagreement", "root mean square distance of the nodes' models from their mean"],
  ["exchanges", "exchanges", "how often two nodes have met"],
  ["messages", "messages", "two for every exchange, one along a tree"],
  ["bytes", "bytes sent", "rows and numbers in all messages, 8 bytes a number"],
  ["ratio", "bound / measured", "the bound needs the minimizer, which is not known here"],
];
const OF_SITES = ["local", "at one site", "exchanges between rows of one site, which cost nothing"];
const OF_ROUNDS = ["rounds", "rounds", "gradients over all pairs that nodes have computed"];
const COUNTS = ["exchanges", "local", "rounds", "messages", "bytes"];
// What nodes do not know before their first exchange, or while they still learn where rows lie.
const ESTIMATED = ["error", "mean"];

export class Readouts {
  constructor(place, run) {
    this.run = run;
    this.cells = {};
    const rows = [...(run.kind === "learning" ? LEARNING : ESTIMATION)];
    const isAfter = rows.findIndex(([name]) => name === "exchanges") + 1;
    if (run.has_rounds) rows.splice(isAfter, 0, OF_ROUNDS);
    else if (run.sites) rows.splice(isAfter, 0, OF_SITES);
    place.replaceChildren(...rows.map((row, k) => this.makeRow(row, k === 0)));
  }

  makeRow([name, label, meaning], isChief) {
    this.cells[name] = make("dd", { text: "–", "data-readout": name });
    const term = make("dt", { text: label });
    return make("div", { title: meaning, class: isChief ? "chief" : "" }, term, this.cells[name]);
  }

  update(frame, ratio) {
    const { exact, sampling } = this.run;
    const found = { ...frame, exact, sampling: sampling?.error, exchanges: frame.made, ratio };
    for (const [name, cell] of Object.entries(this.cells)) {
      const isUnknown = frame.done > 0 && ESTIMATED.includes(name) && found[name] === null;
      const format = COUNTS.includes(name) ? formatCount : formatNumber;
      cell.textContent = isUnknown ? "not yet" : format(found[name]);
    }
  }
}
