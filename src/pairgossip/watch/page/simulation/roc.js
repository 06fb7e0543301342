// The ROC curves that nodes know, on their way to that of all rows.

import { make } from "../common/elements.js";

const SIZE = 240;
const EDGE = 34;
const SPAN = SIZE - EDGE - 8;
const TICKS = [0, 0.5, 1];

const right = (share) => EDGE + share * SPAN;
const up = (share) => SIZE - EDGE - share * SPAN;

function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

function points([x, y]) {
  return x.map((share, k) => `${right(share).toFixed(1)},${up(y[k]).toFixed(1)}`).join(" ");
}

function drawAxes() {
  const parts = [
    draw("rect", { x: right(0), y: up(1), width: SPAN, height: SPAN, class: "frame" }),
    draw("line", { x1: right(0), y1: up(0), x2: right(1), y2: up(1), class: "chance" }),
  ];
  for (const tick of TICKS) {
    parts.push(draw("text", { x: right(tick), y: up(0) + 14, "text-anchor": "middle" }, tick));
    parts.push(draw("text", { x: right(0) - 5, y: up(tick) + 4, "text-anchor": "end" }, tick));
  }
  const middle = { "text-anchor": "middle", class: "name" };
  parts.push(draw("text", { x: right(0.5), y: SIZE - 4, ...middle }, "1 - specificity"));
  const turned = `rotate(-90 10 ${up(0.5)})`;
  parts.push(draw("text", { x: 10, y: up(0.5), transform: turned, ...middle }, "sensitivity"));
  return parts;
}

export class RocPicture {
  constructor(exact) {
    this.svg = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" });
    this.nodes = draw("g", {});
    const all = draw("polyline", { points: points(exact), class: "exact" });
    this.svg.append(...drawAxes(), this.nodes, all);
    this.describe(0);
    this.element = make(
      "figure",
      { class: "roc" },
      this.svg,
      make("figcaption", {
        text: "ROC curve of all rows, and what nodes take it for now: one in color, others thin.",
      }),
    );
  }

  // curves: one for each node that is drawn, null where it knows of one class only.
  update(curves) {
    const known = (curves ?? []).filter((curve) => curve !== null);
    const lines = known.map((curve, k) =>
      draw("polyline", { points: points(curve), class: k === 0 ? "node first" : "node" }),
    );
    this.nodes.replaceChildren(...lines.reverse());
    this.svg.dataset.known = String(known.length);
    this.describe(known.length);
  }

  describe(count) {
    const nodes = count ? `and those that ${count} nodes know now` : "which no node knows yet";
    this.svg.setAttribute("aria-label", `ROC curve of all rows, ${nodes}`);
  }
}
