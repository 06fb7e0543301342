// The legend of a plot: one button per curve, which switches it off and on.

import { make } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
export const DASHES = { solid: [], dashed: [7, 5], dotted: [2, 4], "dash-dotted": [7, 4, 2, 4] };

// onToggle(isShown) is called when the button is pressed.
export function makeLegendButton(line, stroke, isShown, onToggle) {
  const button = make("button", { type: "button", "aria-pressed": String(isShown) });
  button.append(drawSample(line, stroke), document.createTextNode(line.label));
  button.addEventListener("click", () => {
    const isNowShown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isNowShown));
    onToggle(isNowShown);
  });
  return button;
}

function drawSample(line, stroke) {
  const dash = (DASHES[line.dash] ?? []).join(" ");
  const picture = document.createElementNS(SVG, "svg");
  const kind = line.points ? "circle" : line.isBand ? "rect" : "line";
  const mark = document.createElementNS(SVG, kind);
  const shape = {
    circle: { cx: 12, cy: 4, r: 3.5, fill: stroke },
    rect: { width: 24, height: 8, fill: stroke, "fill-opacity": 0.35 },
    line: { x1: 0, y1: 4, x2: 24, y2: 4, stroke, "stroke-width": 2.4, "stroke-dasharray": dash },
  }[kind];
  for (const [name, value] of Object.entries(shape)) mark.setAttribute(name, value);
  picture.setAttribute("aria-hidden", "true");
  picture.append(mark);
  return picture;
}
