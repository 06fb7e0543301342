// Colors of nodes' knowledge, and of curves; every kind of color vision can distinguish them.

import { isDark, themeColor } from "./elements.js";

// Blue below, orange above, near white at the middle.
const STOPS = [
  [9, 52, 124],
  [37, 100, 184],
  [111, 165, 221],
  [190, 215, 240],
  [250, 249, 246],
  [252, 214, 172],
  [241, 160, 84],
  [211, 104, 16],
  [130, 55, 2],
];
export const UNKNOWN = 255;
export const TOP = 254;

// Okabe and Ito's colors, lightened for dark paper.
const LIGHT = "#0072b2 #d55e00 #009e73 #b8559a #b07800 #2a8fd0 #444444 #7a5c00".split(" ");
const DARK = "#5eb3ee #ff9147 #3ecfa0 #e79cc9 #ecb53a #9ad2f7 #c9ccd3 #c9ab52".split(" ");

export function levelColor(level) {
  if (level === UNKNOWN) return isDark() ? "#525967" : "#b7bcc6";
  const at = (level / TOP) * (STOPS.length - 1);
  const below = Math.min(Math.floor(at), STOPS.length - 2);
  const [from, to] = [STOPS[below], STOPS[below + 1]];
  const mixture = from.map((part, k) => Math.round(part + (to[k] - part) * (at - below)));
  return `rgb(${mixture.join(",")})`;
}

export function paintBar(canvas) {
  canvas.width = 255;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  for (let level = 0; level <= TOP; level += 1) {
    context.fillStyle = levelColor(level);
    context.fillRect(level, 0, 1, 1);
  }
}

// The color of a curve: a number in the palette, a color of the theme ("--accent"), or "#rrggbb".
export function lineColor(given) {
  if (typeof given === "number") return (isDark() ? DARK : LIGHT)[given % LIGHT.length];
  if (given.startsWith("--")) return themeColor(given);
  return isDark() ? lighten(given) : given;
}

// A color made for white paper, in a shade that dark paper does not swallow.
function lighten(given) {
  const place = LIGHT.indexOf(given.toLowerCase());
  if (place >= 0) return DARK[place];
  const parts = splitHex(given).map((part) => Math.round(part + 0.42 * (255 - part)));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

export function fade(color, strength) {
  return `rgba(${splitHex(color).join(",")},${strength})`;
}

function splitHex(color) {
  return [1, 3, 5].map((k) => Number.parseInt(color.slice(k, k + 2), 16));
}
