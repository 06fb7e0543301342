// The numbers beside a picture.

import { make } from "./elements.js";
import { counted, spelled } from "./numbers.js";

// The first of each is the one to watch.
const ESTIMATION = [
  ["error", "error", "root mean square over the nodes of estimate minus exact value"],
  ["mean", "mean estimate", "mean over the nodes of their estimates"],
  ["exact", "exact value", "what all estimates converge to"],
  ["spread", "spread", "standard deviation of the estimates over the nodes"],
  ["exchanges", "exchanges", "how often two nodes have met"],
  ["messages", "messages", "two for every exchange"],
  ["ratio", "bound / measured", "how many times larger the bound is than what was measured"],
];
const LEARNING = [
  ["objective", "objective", "mean loss over all pairs, of the network's mean model"],
  ["of_nodes", "of single nodes", "mean objective of single nodes' models, at the last checkpoint"],
  ["spread", "disagreement", "root mean square distance of the nodes' models from their mean"],
  ["exchanges", "exchanges", "how often two nodes have met"],
  ["messages", "messages", "two for every exchange"],
  ["ratio", "bound / measured", "the bound needs the minimizer, which nobody knows here"],
];
const COUNTS = ["exchanges", "messages"];

export class Readouts {
  constructor(place) {
    this.place = place;
  }

  setup(run) {
    this.run = run;
    this.cells = {};
    const rows = run.kind === "learning" ? LEARNING : ESTIMATION;
    this.place.replaceChildren(...rows.map(([name, label, meaning], k) => {
      this.cells[name] = make("dd", { text: "–", "data-readout": name });
      return make("div", { title: meaning, class: k === 0 ? "chief" : "" }, make("dt", { text: label }), this.cells[name]);
    }));
  }

  update(frame, ratio) {
    const exchanges = frame.done * this.run.exchanges_per_iteration;
    const found = { ...frame, exact: this.run.exact, exchanges, messages: 2 * exchanges, ratio };
    for (const [name, cell] of Object.entries(this.cells)) {
      cell.textContent = COUNTS.includes(name) ? counted(found[name]) : spelled(found[name]);
    }
  }
}
