// Blue below, orange above, near white at the middle: told apart by every kind of color vision.

import { isDark } from "./elements.js";

const STOPS = [
  [9, 52, 124], [37, 100, 184], [111, 165, 221], [190, 215, 240], [250, 249, 246],
  [252, 214, 172], [241, 160, 84], [211, 104, 16], [130, 55, 2],
];
export const UNKNOWN = 255;
export const TOP = 254;

export function levelColor(level) {
  if (level === UNKNOWN) return isDark() ? "#525967" : "#b7bcc6";
  const at = (level / TOP) * (STOPS.length - 1);
  const below = Math.min(Math.floor(at), STOPS.length - 2);
  const mixed = STOPS[below].map((c, k) => Math.round(c + (STOPS[below + 1][k] - c) * (at - below)));
  return `rgb(${mixed.join(",")})`;
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
