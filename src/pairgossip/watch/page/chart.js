// Curves on log axes, over the checkpoints of one or two runs.

import { color, make } from "./elements.js";
import { superscript } from "./numbers.js";

const DASHES = { solid: [], dashed: [7, 5], dotted: [2, 4] };
const HEIGHT = 360;

function positive(value) {
  return typeof value === "number" && value > 0 ? value : null;
}

// Powers of ten, and 2 and 5 times them where there are few.
function decades(_, __, low, high) {
  const few = Math.log10(high / low) < 2.2;
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of few ? [1, 2, 5] : [1]) {
      const value = Number(`${factor}e${power}`);
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

function ticks(_, splits) {
  return splits.map((value) => {
    if (value >= 0.001 && value <= 1000) return String(value);
    const [front, power] = value.toExponential().split("e");
    return `${front === "1" ? "" : `${front}·`}10${superscript(Number(power))}`;
  });
}

export class CurveChart {
  constructor(place, { title, legend, note }) {
    this.place = place;
    this.title = title;
    this.legend = legend;
    this.note = note;
    this.hidden = new Set();
    this.plot = null;
    this.shape = "";
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(place);
    this.recolor = () => this.rebuild();
    document.addEventListener("themechange", this.recolor);
  }

  close() {
    this.observer.disconnect();
    document.removeEventListener("themechange", this.recolor);
    this.plot?.destroy();
  }

  // lines: [{label, x, y, dash, color, aside}], all x increasing; xLabel, yLabel: the axes; last: where x ends.
  // The axis makes room for the lines that are not aside: a bound far above would flatten what was measured.
  show({ lines, xLabel, yLabel, last }) {
    this.given = { lines, xLabel, yLabel, last };
    const shape = JSON.stringify([lines.map((line) => [line.label, line.dash, line.color]), xLabel, yLabel, last]);
    const data = this.aligned(lines);
    if (shape !== this.shape || !this.plot) {
      this.shape = shape;
      this.build(data);
    } else this.plot.setData(data);
  }

  aligned(lines) {
    const xs = [...new Set(lines.flatMap((line) => line.x))].filter(positive).sort((a, b) => a - b);
    const index = new Map(xs.map((x, k) => [x, k]));
    const columns = lines.map((line) => {
      const column = new Array(xs.length).fill(null);
      line.x.forEach((x, k) => {
        if (index.has(x)) column[index.get(x)] = positive(line.y[k]);
      });
      return column;
    });
    return [xs.length ? xs : [1], ...(xs.length ? columns : lines.map(() => [null]))];
  }

  rebuild() {
    if (!this.given) return;
    this.shape = "";
    this.show(this.given);
  }

  build(data) {
    this.plot?.destroy();
    const { lines, xLabel, yLabel, last } = this.given;
    const axis = (label, size) => ({
      label,
      labelSize: 22,
      size,
      stroke: color("--soft"),
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      grid: { stroke: color("--line"), width: 1 },
      ticks: { stroke: color("--line"), width: 1 },
      splits: decades,
      filter: (_, splits) => splits,
      values: ticks,
    });
    this.plot = new window.uPlot({
      width: Math.max(200, this.place.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: true, uni: 30 } },
      scales: {
        x: { time: false, distr: 3, range: (_, low, high) => this.zoomed(low, high, last) },
        y: { distr: 3, range: (_, low, high) => this.room(low, high) },
      },
      axes: [axis(xLabel, 34), axis(yLabel, 54)],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.label,
          stroke: color(line.color),
          width: line.dash === "solid" ? 2 : 1.5,
          dash: DASHES[line.dash],
          spanGaps: true,
          show: !this.hidden.has(line.label),
          auto: !line.aside,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [() => this.tell()], setScale: [() => this.noteAxis()] },
    }, data, this.place);
    this.noteAxis();
    this.drawLegend();
  }

  // The axis is painted: without this a test could not read it.
  noteAxis() {
    const { min, max } = this.plot?.scales.y ?? {};
    if (min !== undefined) Object.assign(this.place.dataset, { low: min, high: max });
  }

  // Whole powers of ten around the values, or around all lines shown while nothing else is known.
  room(low, high) {
    if (!(low > 0) || !(high > 0)) {
      const { lines } = this.given;
      const known = lines.filter((line) => !this.hidden.has(line.label)).flatMap((line) => line.y).filter(positive);
      if (!known.length) return [0.1, 10];
      [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    }
    return window.uPlot.rangeLog(low, high, 10, true);
  }

  // The whole run unless the viewer has dragged over a part of it.
  zoomed(low, high, last) {
    const data = this.plot?.data?.[0];
    const isPart = data && data.length > 1 && low !== null && (low > data[0] || high < data.at(-1));
    return isPart ? [low, high] : [1, Math.max(10, last)];
  }

  drawLegend() {
    const { lines } = this.given;
    this.legend.replaceChildren(...lines.map((line, k) => {
      const button = make("button", { type: "button", "aria-pressed": String(!this.hidden.has(line.label)) });
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
      const facts = { x1: 0, y1: 4, x2: 24, y2: 4, stroke: color(line.color), "stroke-width": 2.4, "stroke-dasharray": DASHES[line.dash].join(" ") };
      for (const [name, value] of Object.entries(facts)) stroke.setAttribute(name, value);
      picture.setAttribute("aria-hidden", "true");
      picture.append(stroke);
      button.append(picture, document.createTextNode(line.label));
      button.addEventListener("click", () => {
        if (this.hidden.has(line.label)) this.hidden.delete(line.label);
        else this.hidden.add(line.label);
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.label)));
        this.plot.setSeries(k + 1, { show: !this.hidden.has(line.label) });
      });
      return button;
    }));
  }

  tell() {
    const at = this.plot?.cursor?.idx;
    if (at === null || at === undefined || !this.onValue) return;
    const values = this.given.lines.map((line, k) => [line.label, this.plot.data[k + 1][at]]);
    this.onValue(this.plot.data[0][at], values.filter(([, value]) => value !== null));
  }

  fit() {
    const width = this.place.clientWidth;
    if (this.plot && width && Math.abs(this.plot.width - width) > 1) this.plot.setSize({ width, height: HEIGHT });
  }
}
