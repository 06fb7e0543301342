// The picture of one network: nodes colored by what they know, exchanges that flash, one
// observation that is followed.

import { levelColor, UNKNOWN } from "./colors.js";
import { isDark, prefersReducedMotion, themeColor } from "./elements.js";
import { decodeBytes, decodeWords } from "./numbers.js";
import { fittingRadius, siteScales } from "./sizes.js";

const FLASH = 450; // milliseconds
const MOST_FLASHES = 16;
const FEW = 6; // up to this many exchanges at once, their nodes are ringed
const MARGIN = 0.045;
const MARGIN_OF_SITES = 0.09; // they are larger
const LONGEST_TRAIL = 40; // older moves would only blacken the picture

export class NetworkPicture {
  // onChoose(node): a node is clicked or entered; onPoint(node): it is pointed at, null: no longer;
  // onForget(): Escape is pressed.
  constructor(canvas, { onChoose, onPoint, onForget }) {
    this.canvas = canvas;
    Object.assign(this, { onChoose, onPoint, onForget });
    this.edges = document.createElement("canvas");
    this.sprites = document.createElement("canvas");
    this.flashes = [];
    this.cursor = null;
    this.frame = null;
    this.levels = null;
    canvas.addEventListener("click", (event) => {
      const node = this.nodeAt(event);
      if (node !== null) onChoose(node);
    });
    canvas.addEventListener("pointermove", (event) => this.point(this.nodeAt(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("keydown", (event) => this.pressKey(event));
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    this.recolor = () => this.resize();
    document.addEventListener("themechange", this.recolor);
  }

  close() {
    this.observer.disconnect();
    document.removeEventListener("themechange", this.recolor);
    cancelAnimationFrame(this.asked);
  }

  setup(run) {
    this.run = run;
    this.positions = decodeWords(run.positions);
    this.scales = run.sites && !run.pixels ? siteScales(run.sites.rows) : null;
    this.lines = run.edges === null ? null : decodeWords(run.edges);
    this.levels = new Uint8Array(run.nodes).fill(UNKNOWN);
    this.cursor = null;
    this.resize();
  }

  update(frame) {
    this.frame = frame;
    this.levels = decodeBytes(frame.levels);
    const now = performance.now();
    for (const [first, second] of frame.exchanges.slice(-MOST_FLASHES))
      this.flashes.push({ first, second, began: now });
    if (this.flashes.length > MOST_FLASHES) this.flashes = this.flashes.slice(-MOST_FLASHES);
    this.draw();
  }

  resize() {
    const size = Math.round(this.canvas.clientWidth * devicePixelRatio);
    if (!this.run || !size) return;
    if (this.canvas.width !== size) this.canvas.width = this.canvas.height = size;
    const { nodes } = this.run;
    const margin = this.scales ? MARGIN_OF_SITES : MARGIN;
    const inner = size * (1 - 2 * margin);
    this.x = new Float32Array(nodes);
    this.y = new Float32Array(nodes);
    for (let k = 0; k < nodes; k += 1) {
      this.x[k] = size * margin + (inner * this.positions[2 * k]) / 65535;
      this.y[k] = size * margin + (inner * this.positions[2 * k + 1]) / 65535;
    }
    this.radius = this.radiusFor(size);
    this.paintEdges(size);
    this.paintSprites();
    this.draw();
  }

  radiusFor(size) {
    const { nodes, pixels } = this.run;
    if (pixels) return Math.max(0.5, (0.5 * (1 - 2 * MARGIN) * size) / Math.sqrt(nodes));
    return fittingRadius(this.x, this.y, { isLarge: this.scales !== null });
  }

  // Sites are as large as their rows are many.
  radiusOf(node) {
    return this.radius * (this.scales?.[node] ?? 1);
  }

  paintEdges(size) {
    this.edges.width = this.edges.height = size;
    if (this.lines === null) return;
    const context = this.edges.getContext("2d");
    const count = this.lines.length / 2;
    const faint = Math.min(0.5, Math.max(0.06, 160 / count));
    context.strokeStyle = isDark() ? `rgba(190,198,214,${faint})` : `rgba(70,78,95,${0.7 * faint})`;
    context.lineWidth = Math.max(1, 0.8 * devicePixelRatio);
    context.beginPath();
    for (let k = 0; k < this.lines.length; k += 2) {
      context.moveTo(this.x[this.lines[k]], this.y[this.lines[k]]);
      context.lineTo(this.x[this.lines[k + 1]], this.y[this.lines[k + 1]]);
    }
    context.stroke();
  }

  // Every level once: drawing ten thousand copies is quicker than ten thousand circles.
  paintSprites() {
    if (this.run.pixels) return;
    this.sprite = 2 * Math.ceil(this.radius + 1.5);
    this.sprites.width = 256 * this.sprite;
    this.sprites.height = this.sprite;
    const context = this.sprites.getContext("2d");
    const middle = this.sprite / 2;
    context.lineWidth = Math.max(0.7, 0.11 * this.radius);
    context.strokeStyle = isDark() ? "rgba(0,0,0,0.55)" : "rgba(40,46,60,0.62)";
    for (let level = 0; level < 256; level += 1) {
      context.beginPath();
      context.arc(level * this.sprite + middle, middle, this.radius, 0, 2 * Math.PI);
      context.fillStyle = levelColor(level);
      context.fill();
      context.stroke();
    }
  }

  draw() {
    if (!this.run || !this.canvas.width) return;
    const context = this.canvas.getContext("2d");
    const now = performance.now();
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.edges, 0, 0);
    this.flashes = this.flashes.filter((flash) => now - flash.began < FLASH);
    this.drawFlashes(context, now);
    this.drawTrail(context);
    if (this.run.pixels) this.drawPixels(context);
    else this.drawNodes(context);
    this.drawMarks(context);
    cancelAnimationFrame(this.asked);
    if (this.flashes.length && !prefersReducedMotion())
      this.asked = requestAnimationFrame(() => this.draw());
  }

  drawNodes(context) {
    for (let k = 0; k < this.levels.length; k += 1) {
      const side = this.sprite * (this.scales?.[k] ?? 1);
      context.drawImage(
        this.sprites,
        this.levels[k] * this.sprite,
        0,
        this.sprite,
        this.sprite,
        this.x[k] - side / 2,
        this.y[k] - side / 2,
        side,
        side,
      );
    }
  }

  drawPixels(context) {
    const side = 2 * this.radius + 0.7; // no seams between neighbors
    const colors = Array.from({ length: 256 }, (_, level) => levelColor(level));
    for (let k = 0; k < this.levels.length; k += 1) {
      context.fillStyle = colors[this.levels[k]];
      context.fillRect(this.x[k] - this.radius, this.y[k] - this.radius, side, side);
    }
  }

  drawFlashes(context, now) {
    context.strokeStyle = themeColor("--accent");
    context.lineCap = "round";
    for (const { first, second, began } of this.flashes) {
      const fading = prefersReducedMotion() ? 0.8 : 1 - (now - began) / FLASH;
      context.globalAlpha = fading;
      context.lineWidth =
        (this.run.pixels ? 1.2 : this.flashes.length > FEW ? 1.6 : 2.6) * devicePixelRatio;
      context.beginPath();
      if (!this.wraps(first, second)) {
        context.moveTo(this.x[first], this.y[first]);
        context.lineTo(this.x[second], this.y[second]);
      }
      if (!this.run.pixels && this.flashes.length <= FEW) {
        for (const node of [first, second]) {
          const reach = this.radiusOf(node) + 0.5 * Math.min(this.radius, 11 * devicePixelRatio);
          context.moveTo(this.x[node] + reach, this.y[node]);
          context.arc(this.x[node], this.y[node], reach, 0, 2 * Math.PI);
        }
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  // An edge that leads around the picture would cross all of it.
  wraps(first, second) {
    const length = (axis) => this.positions[2 * first + axis] - this.positions[2 * second + axis];
    return (this.run.longest_edge ?? []).some((most, axis) => Math.abs(length(axis)) > most);
  }

  drawTrail(context) {
    // The last moves are the widest; a rim sets them off from the edges below.
    const trail = (this.frame?.trail ?? []).slice(-LONGEST_TRAIL);
    const [ink, rim] = [themeColor("--ink"), themeColor("--stage")];
    for (let k = 1; k < trail.length; k += 1) {
      const [from, to] = [trail[k - 1], trail[k]];
      if (this.wraps(from, to)) continue;
      const newness = k / (trail.length - 1);
      context.globalAlpha = 0.15 + 0.85 * newness ** 2;
      for (const [stroke, width] of [
        [rim, 4.5],
        [ink, 2],
      ]) {
        context.strokeStyle = stroke;
        context.lineWidth = (0.5 + 0.5 * newness) * width * devicePixelRatio;
        context.beginPath();
        context.moveTo(this.x[from], this.y[from]);
        context.lineTo(this.x[to], this.y[to]);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  drawMarks(context) {
    const place = this.frame?.trail?.at(-1);
    const gap = 3 * devicePixelRatio;
    const ring = (node) => Math.max(this.radiusOf(node) + gap, 2 * gap);
    if (place !== undefined) {
      this.drawRing(context, place, ring(place) + gap / 2, themeColor("--stage"), 6);
      this.drawRing(context, place, ring(place), themeColor("--ink"), 3);
    }
    const { cursor } = this;
    if (cursor !== null) this.drawRing(context, cursor, ring(cursor), themeColor("--accent"), 2);
  }

  drawRing(context, node, radius, stroke, width) {
    context.strokeStyle = stroke;
    context.lineWidth = width * devicePixelRatio;
    context.beginPath();
    context.arc(this.x[node], this.y[node], radius, 0, 2 * Math.PI);
    context.stroke();
  }

  nodeAt(event) {
    if (!this.x) return null;
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    const px = (event.clientX - box.left) * scale;
    const py = (event.clientY - box.top) * scale;
    let best = null;
    let least = (Math.max(this.radius, 5 * devicePixelRatio) + 6 * devicePixelRatio) ** 2;
    for (let k = 0; k < this.x.length; k += 1) {
      const distance = (this.x[k] - px) ** 2 + (this.y[k] - py) ** 2;
      if (distance < least) [best, least] = [k, distance];
    }
    return best;
  }

  point(node) {
    if (node === this.cursor) return;
    this.cursor = node;
    this.onPoint(node);
    this.draw();
  }

  pressKey(event) {
    const moves = {
      ArrowRight: 1,
      ArrowDown: 1,
      ArrowLeft: -1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
    };
    if (!this.run) return;
    if (event.key in moves) {
      const { nodes } = this.run;
      const from = this.cursor ?? (moves[event.key] > 0 ? -1 : 0);
      this.point((((from + moves[event.key]) % nodes) + nodes) % nodes);
    } else if (event.key === "Enter" && this.cursor !== null) this.onChoose(this.cursor);
    else if (event.key === "Escape") this.onForget();
    else return;
    event.preventDefault();
  }
}
