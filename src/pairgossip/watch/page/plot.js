// A chart to look into: drag to zoom, point for values, switch curves off, linear or log axes.

import { color, isDark, make } from "./elements.js";
import { spelled, superscript } from "./numbers.js";

const DASHES = { solid: [], dashed: [7, 5], dotted: [2, 4] };
// Okabe and Ito's colors, lightened for dark paper: told apart by every kind of color vision.
export const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8559a", "#b07800", "#2a8fd0", "#444444", "#7a5c00"];
export const DARK = ["#5eb3ee", "#ff9147", "#3ecfa0", "#e79cc9", "#ecb53a", "#9ad2f7", "#c9ccd3", "#c9ab52"];

export function seriesColor(number) {
  return (isDark() ? DARK : LIGHT)[number % LIGHT.length];
}

function usable(value, log) {
  return typeof value === "number" && Number.isFinite(value) && (!log || value > 0) ? value : null;
}

const MOST_LABELS = 7;

// Powers of ten, as many as there is room for; 1, 2 and 5 times them where there are few.
function logSplits(_, __, low, high) {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  const step = Math.max(1, Math.ceil((to - from) / MOST_LABELS));
  const factors = to - from < 0.8 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : to - from < 2.5 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power += 1) {
    if (step > 1 && ((power % step) + step) % step) continue;
    for (const factor of factors) found.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

function logTicks(_, splits) {
  return splits.map((value) => {
    const power = Math.floor(Math.log10(value) + 1e-9);
    if (power >= -2 && power <= 4) return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 4 });
    const factor = Number((value / 10 ** power).toPrecision(2));
    return `${factor === 1 ? "" : `${factor}·`}10${superscript(power)}`;
  });
}

function words(ticks) {
  const named = new Map(ticks);
  return { splits: () => ticks.map(([at]) => at), values: (_, splits) => splits.map((at) => named.get(at) ?? "") };
}

function soft(stroke, strength) {
  const [r, g, b] = [1, 3, 5].map((k) => Number.parseInt(stroke.slice(k, k + 2), 16));
  return `rgba(${r},${g},${b},${strength})`;
}

export class Plot {
  // place: where it is drawn; legend, value: where names and values are written.
  constructor(place, { legend, value, height = 320 }) {
    Object.assign(this, { place, legend, value, height });
    this.hidden = new Set();
    this.plot = null;
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(place);
    this.recolor = () => this.given && this.build();
    document.addEventListener("themechange", this.recolor);
  }

  close() {
    this.observer.disconnect();
    document.removeEventListener("themechange", this.recolor);
    this.plot?.destroy();
  }

  // lines: [{label, x, y, dash, color: number or "#rrggbb", points, aside, band: {x, low, high}}]
  // The axis makes room for the lines that are not aside: a bound far above would flatten what was measured.
  show(given) {
    const shape = JSON.stringify([given.lines.map((l) => [l.label, l.dash, l.color, Boolean(l.band)]), given.xLabel, given.yLabel, given.xLog, given.yLog, given.xTicks]);
    const isSame = shape === this.shape && this.plot;
    this.given = given;
    this.shape = shape;
    if (isSame) this.plot.setData(this.data(), !this.isZoomed);
    else this.build();
  }

  data() {
    const { lines, xLog, yLog } = this.given;
    const xs = new Set();
    for (const line of lines) for (const x of [...line.x, ...(line.band?.x ?? [])]) if (usable(x, xLog) !== null) xs.add(x);
    const sorted = [...xs].sort((a, b) => a - b);
    const index = new Map(sorted.map((x, k) => [x, k]));
    const column = (x, y) => {
      const found = new Array(sorted.length).fill(undefined);
      x.forEach((at, k) => {
        if (index.has(at)) found[index.get(at)] = usable(y[k], yLog);
      });
      return found;
    };
    const columns = lines.map((line) => column(line.x, line.y));
    this.bands = [];
    lines.forEach((line, k) => {
      if (!line.band) return;
      this.bands.push({ line: k, low: lines.length + 1 + 2 * this.bands.length });
    });
    for (const band of this.bands) {
      const { x, low, high } = lines[band.line].band;
      const highs = column(x, high);
      // Below 0 there is no logarithm: the band then reaches down to the frame of the picture.
      const lows = column(x, yLog ? low.map((value) => (value === null || value > 0 ? value : Number.MIN_VALUE)) : low);
      columns.push(lows, highs);
    }
    return sorted.length ? [sorted, ...columns] : [[1], ...columns.map(() => [null])];
  }

  stroke(line) {
    return typeof line.color === "number" ? seriesColor(line.color) : this.seen(line.color);
  }

  // A color made for white paper, in a shade that dark paper does not swallow.
  seen(given) {
    if (!isDark()) return given;
    const place = LIGHT.indexOf(given.toLowerCase());
    if (place >= 0) return DARK[place];
    const parts = [1, 3, 5].map((k) => Number.parseInt(given.slice(k, k + 2), 16));
    return `#${parts.map((part) => Math.round(part + 0.42 * (255 - part)).toString(16).padStart(2, "0")).join("")}`;
  }

  build() {
    this.plot?.destroy();
    this.isZoomed = false;
    const { lines, xLabel, yLabel, xLog, yLog, xTicks, yTicks } = this.given;
    const data = this.data();
    const axis = (label, log, size, ticks, space) => ({
      label, labelSize: label ? 22 : 4, size, space,
      stroke: color("--soft"),
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      grid: { stroke: color("--line"), width: 1 },
      ticks: { stroke: color("--line"), width: 1 },
      ...(ticks ? words(ticks) : log ? { values: logTicks, splits: logSplits, filter: (_, splits) => splits } : { values: (_, splits) => splits.map((each) => spelled(each, 6)) }),
    });
    this.plot = new window.uPlot({
      width: Math.max(200, this.place.clientWidth),
      height: this.height,
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: true, uni: 24 } },
      scales: {
        x: { time: false, distr: xLog ? 3 : 1, range: (_, low, high) => this.range("x", low, high) },
        y: { distr: yLog ? 3 : 1, range: (_, low, high) => this.range("y", low, high) },
      },
      axes: [axis(xLabel, xLog, 34, xTicks, 60), axis(yLabel, yLog, yTicks ? 110 : 62, yTicks, 34)],
      series: [{}, ...lines.map((line) => this.series(line)), ...this.bands.flatMap((band) => this.edges(lines[band.line]))],
      bands: this.bands.map((band) => ({ series: [band.low + 1, band.low], fill: soft(this.stroke(lines[band.line]), 0.16) })),
      hooks: { setCursor: [() => this.tell()], setSelect: [() => { this.isZoomed = true; }], setScale: [() => this.noteAxis()] },
    }, data, this.place);
    // A double click shows everything again.
    this.plot.over.addEventListener("dblclick", () => this.unzoom());
    this.noteAxis();
    this.drawLegend();
  }

  // The axis is painted: without this a test could not read it.
  noteAxis() {
    const { min, max } = this.plot?.scales.y ?? {};
    if (min !== undefined) Object.assign(this.place.dataset, { low: min, high: max });
  }

  series(line) {
    const stroke = this.stroke(line);
    return {
      label: line.label, stroke, dash: DASHES[line.dash] ?? [], spanGaps: true,
      width: line.points ? 0 : line.dash === "dotted" ? 1.6 : 2,
      show: !this.hidden.has(line.label),
      auto: !line.aside,
      points: { show: Boolean(line.points) || line.x.length === 1, size: 7, fill: stroke, stroke },
      ...(line.points ? { paths: () => null } : {}),
    };
  }

  edges(line) {
    const hidden = { label: line.label, width: 0, spanGaps: true, points: { show: false }, show: !this.hidden.has(line.label) };
    return [{ ...hidden, auto: !this.given.yLog }, { ...hidden, auto: true }];
  }

  range(axis, low, high) {
    const log = this.given[`${axis}Log`];
    if (axis === "y" && (low === null || low === undefined)) [low, high] = this.reach(log);
    if (low === null || low === undefined || high === null || (log && !(low > 0))) return log ? [0.1, 10] : [0, 1];
    if (this.isZoomed && low < high) return [low, high];
    if (log) {
      if (axis === "x") return low < high ? [low, high] : [low / 3, high * 3];
      const [from, to] = [Math.log10(low), Math.log10(high)];
      const room = Math.max(0.06 * (to - from), 0.08);
      return [10 ** (from - room), 10 ** (to + room)];
    }
    const room = high > low ? (axis === "x" && !this.given.xTicks ? 0 : 0.08 * (high - low)) : Math.abs(high) * 0.05 || 1;
    return [low - room, high + room];
  }

  // How far all lines that are shown reach, where none of them has a say in the axis.
  reach(log) {
    const shown = this.given.lines.filter((line) => !this.hidden.has(line.label));
    const known = shown.flatMap((line) => line.y).filter((value) => usable(value, log) !== null);
    if (!known.length) return [null, null];
    return [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  }

  unzoom() {
    this.isZoomed = false;
    this.plot.setData(this.data(), true);
  }

  drawLegend() {
    if (!this.legend) return;
    const { lines } = this.given;
    this.legend.replaceChildren(...lines.map((line, k) => {
      const button = make("button", { type: "button", "aria-pressed": String(!this.hidden.has(line.label)) });
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const mark = document.createElementNS("http://www.w3.org/2000/svg", line.points ? "circle" : "line");
      const facts = line.points
        ? { cx: 12, cy: 4, r: 3.5, fill: this.stroke(line) }
        : { x1: 0, y1: 4, x2: 24, y2: 4, stroke: this.stroke(line), "stroke-width": 2.4, "stroke-dasharray": (DASHES[line.dash] ?? []).join(" ") };
      for (const [name, value] of Object.entries(facts)) mark.setAttribute(name, value);
      picture.setAttribute("aria-hidden", "true");
      picture.append(mark);
      button.append(picture, document.createTextNode(line.label));
      button.addEventListener("click", () => {
        const isHidden = this.hidden.has(line.label);
        if (isHidden) this.hidden.delete(line.label);
        else this.hidden.add(line.label);
        button.setAttribute("aria-pressed", String(isHidden));
        this.plot.setSeries(k + 1, { show: isHidden });
        for (const band of this.bands.filter((each) => each.line === k)) {
          this.plot.setSeries(band.low, { show: isHidden });
          this.plot.setSeries(band.low + 1, { show: isHidden });
        }
      });
      return button;
    }));
  }

  // The values of all curves at or before the place pointed at.
  tell() {
    const at = this.plot?.cursor?.idx;
    if (!this.value) return;
    if (at === null || at === undefined) {
      this.value.textContent = this.rest ?? "";
      return;
    }
    const { lines, xLabel } = this.given;
    const told = lines.flatMap((line, k) => {
      if (this.hidden.has(line.label)) return [];
      const found = this.plot.data[k + 1][at];
      return found === null || found === undefined ? [] : [`${line.label} ${spelled(found)}`];
    });
    this.value.textContent = `${xLabel ?? ""} ${spelled(this.plot.data[0][at], 6)}: ${told.slice(0, 12).join("; ")}`;
  }

  fit() {
    const width = this.place.clientWidth;
    if (this.plot && width && Math.abs(this.plot.width - width) > 1) this.plot.setSize({ width, height: this.height });
  }
}
