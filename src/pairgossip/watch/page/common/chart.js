// The card around a plot: its title, its legend, and the values at the place pointed at.

import { make } from "./elements.js";

export function makeLegend() {
  return make("div", { class: "legend", role: "group", "aria-label": "Curves shown" });
}

// The parts of the card; a Plot draws into them.
export function makeChart({ id, label, title }) {
  const heading = make("h2", { text: title });
  const legend = makeLegend();
  const place = make("div", { class: "plot", id });
  const value = make("p", { class: "value" });
  const head = make("div", { class: "head" }, heading, legend);
  const element = make("section", { class: "card chart", "aria-label": label }, head, place, value);
  return { element, heading, legend, place, value };
}
