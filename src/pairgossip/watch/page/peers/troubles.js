// What an operator should look at, above everything else; equal sentences of several peers are one.

import { make } from "../common/elements.js";
import { joinFirst } from "../common/names.js";

const MOST_SHOWN = 6;
const STATES = {
  frozen: "stands still: its process is stopped, or has said nothing for seconds.",
  down: "has ended without notice.",
  unclear: "cannot be read.",
};

export class Troubles {
  constructor() {
    this.element = make("ul", { class: "troubles", "aria-label": "Problems", hidden: true });
  }

  update(names, peers) {
    const all = collect(names, peers);
    const key = JSON.stringify([...all]);
    if (key === this.shown) return;
    this.shown = key;
    const entries = [...all].slice(0, MOST_SHOWN).map(([sentence, who]) => {
      const name = make("strong", { text: `${joinFirst(who, 4)}: ` });
      return make("li", {}, name, make("span", { text: sentence }));
    });
    const more = all.size - entries.length;
    if (more > 0) entries.push(make("li", { text: `and ${more} more, in the table` }));
    this.element.replaceChildren(...entries);
    this.element.hidden = !all.size;
  }
}

// The names of peers by their problems.
function collect(names, peers) {
  const all = new Map();
  for (const [k, { state, problems }] of peers.entries()) {
    const sentences = problems.length || !STATES[state] ? problems : [STATES[state]];
    for (const one of sentences) all.set(one, [...(all.get(one) ?? []), names[k]]);
  }
  return all;
}
