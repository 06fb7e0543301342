// A plot to look into: drag to zoom, point for values, switch curves off, linear or log axes.

import { makeAxis, measureNames, widen, widenLog } from "./axes.js";
import { fade, lineColor } from "./colors.js";
import { themeColor } from "./elements.js";
import { DASHES, makeLegendButton } from "./legend.js";
import { formatNumber } from "./numbers.js";
import { describePlot } from "./plot-text.js";

const MOST_VALUES = 12; // in the sentence about the place pointed at

function isUsable(value, log) {
  return typeof value === "number" && Number.isFinite(value) && (!log || value > 0);
}

export class Plot {
  // place: where it is drawn; legend, value: where names and values are written.
  constructor(place, { legend, value, height }) {
    Object.assign(this, { place, legend, value, height });
    this.hidden = new Set();
    this.plot = null;
    this.rest = ""; // the text while the pointer is elsewhere
    place.setAttribute("role", "img");
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

  // lines: [{label, x, y, dash, color, points, aside, band: {x, low, high}}]; xLabel, yLabel, xLog,
  // yLog, xTicks, yTicks: the axes; last: where x ends, if the axis is to show all of it from 1 on
  // and whole powers of ten. The axis makes room for the lines that are not aside: a bound far
  // above would flatten the measured ones. walls: [[at, label]], x without points before it.
  show(given) {
    const { lines, xLabel, yLabel, xLog, yLog, xTicks, yTicks, last } = given;
    const looks = lines.map((line) => [line.label, line.dash, line.color, Boolean(line.band)]);
    const shape = JSON.stringify([looks, xLabel, yLabel, xLog, yLog, xTicks, yTicks, last]);
    const isSame = shape === this.shape && this.plot;
    this.given = given;
    this.shape = shape;
    if (isSame) this.plot.setData(this.alignData(), !this.isZoomed);
    else this.build();
    this.describe();
  }

  describe() {
    const lines = this.given.lines.filter((line) => !this.hidden.has(line.label));
    this.place.setAttribute("aria-label", describePlot({ ...this.given, lines }));
  }

  // One column of all x, and one per line and per edge of a band.
  alignData() {
    const { lines, xLog, yLog } = this.given;
    const all = lines.flatMap((line) => [...line.x, ...(line.band?.x ?? [])]);
    const xs = [...new Set(all.filter((x) => isUsable(x, xLog)))].sort((a, b) => a - b);
    const index = new Map(xs.map((x, k) => [x, k]));
    const column = (x, y) => {
      const found = new Array(xs.length).fill(undefined);
      for (const [k, at] of x.entries()) {
        if (index.has(at)) found[index.get(at)] = isUsable(y[k], yLog) ? y[k] : null;
      }
      return found;
    };
    // Below 0 there is no logarithm: the band then reaches down to the frame of the picture.
    const lift = (value) => (yLog && value !== null && value <= 0 ? Number.MIN_VALUE : value);
    const bands = lines.flatMap(({ band }) =>
      band ? [column(band.x, band.low.map(lift)), column(band.x, band.high)] : [],
    );
    const columns = [...lines.map((line) => column(line.x, line.y)), ...bands];
    return xs.length ? [xs, ...columns] : [[1], ...columns.map(() => [null])];
  }

  build() {
    this.plot?.destroy();
    this.isZoomed = false;
    const { lines } = this.given;
    const banded = lines.filter((line) => line.band);
    this.bands = banded.map((line, k) => ({ line, low: lines.length + 1 + 2 * k }));
    const settings = {
      width: Math.max(200, this.place.clientWidth),
      height: this.height,
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: true, uni: 24 } },
      ...this.makeAxes(),
      series: [
        {},
        ...lines.map((line, k) => this.makeSeries(line, k)),
        ...banded.flatMap((line) => this.makeBandEdges(line)),
      ],
      bands: this.bands.map(({ line, low }) => ({
        series: [low + 1, low],
        fill: fade(lineColor(line.color), 0.16),
      })),
      hooks: {
        drawAxes: [(plot) => this.drawWalls(plot)],
        setCursor: [() => this.writeValues()],
        setSelect: [() => this.noteZoom()],
        setScale: [() => this.noteAxis()],
      },
    };
    this.plot = new window.uPlot(settings, this.alignData(), this.place);
    this.plot.over.addEventListener("dblclick", () => this.unzoom());
    this.noteAxis();
    this.drawLegend();
  }

  makeAxes() {
    const { xLabel, yLabel, xLog, yLog, xTicks, yTicks } = this.given;
    const scale = (axis, log) => ({
      distr: log ? 3 : 1,
      range: (_, low, high) => this.chooseRange(axis, low, high),
    });
    const width = yTicks ? measureNames(yTicks) : 62;
    return {
      scales: { x: { time: false, ...scale("x", xLog) }, y: scale("y", yLog) },
      axes: [
        makeAxis({ label: xLabel, log: xLog, ticks: xTicks, size: 34, space: 60 }),
        makeAxis({ label: yLabel, log: yLog, ticks: yTicks, size: width, space: 34 }),
      ],
    };
  }

  makeSeries(line, number) {
    const stroke = lineColor(line.color);
    const isDotted = () => Boolean(line.points) || this.given.lines[number].x.length === 1;
    return {
      label: line.label,
      stroke,
      dash: DASHES[line.dash] ?? [],
      spanGaps: true,
      width: line.points ? 0 : line.dash === "dotted" ? 1.6 : 2,
      show: !this.hidden.has(line.label),
      auto: !line.aside,
      points: { show: isDotted, size: 7, fill: stroke, stroke },
      ...(line.points ? { paths: () => null } : {}),
    };
  }

  makeBandEdges(line) {
    const edge = {
      label: line.label,
      width: 0,
      spanGaps: true,
      points: { show: false },
      show: !this.hidden.has(line.label),
    };
    return [
      { ...edge, auto: !this.given.yLog },
      { ...edge, auto: true },
    ];
  }

  drawWalls({ ctx, bbox, valToPos }) {
    for (const [at, label] of this.given.walls ?? []) {
      const x = valToPos(at, "x", true);
      const right = bbox.left + bbox.width;
      if (!(x > bbox.left && x <= right)) continue;
      ctx.save();
      ctx.fillStyle = fade(themeColor("--soft"), 0.1);
      ctx.fillRect(bbox.left, bbox.top, x - bbox.left, bbox.height);
      ctx.fillStyle = themeColor("--soft");
      ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
      ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      const isRoomy = x + ctx.measureText(label).width + 12 * devicePixelRatio < right;
      ctx.textAlign = isRoomy ? "left" : "right";
      const beside = (isRoomy ? 6 : -6) * devicePixelRatio;
      ctx.fillText(label, x + beside, bbox.top + 14 * devicePixelRatio);
      ctx.restore();
    }
  }

  chooseRange(axis, low, high) {
    const { last, xTicks } = this.given;
    const log = this.given[`${axis}Log`];
    const isEmpty = (value) => value === null || value === undefined;
    if (axis === "y" && isEmpty(low)) [low, high] = this.findReach(log);
    if (axis === "x" && last && !this.isZoomed) return [1, Math.max(10, last)];
    if (isEmpty(low) || isEmpty(high) || (log && !(low > 0))) return log ? [0.1, 10] : [0, 1];
    if (this.isZoomed && low < high) return [low, high];
    if (log && last) return window.uPlot.rangeLog(low, high, 10, true);
    if (log && axis === "x") return low < high ? [low, high] : [low / 3, high * 3];
    if (log) return widenLog(low, high);
    return widen(low, high, axis === "x" && !xTicks ? 0 : 0.08);
  }

  // The range of all shown lines, if none of them counts for the axis.
  findReach(log) {
    const shown = this.given.lines.filter((line) => !this.hidden.has(line.label));
    const known = shown.flatMap((line) => line.y).filter((value) => isUsable(value, log));
    if (!known.length) return [null, null];
    return [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  }

  // The axis is painted: without this a test could not read it.
  noteAxis() {
    const { min, max } = this.plot?.scales.y ?? {};
    if (min !== undefined) Object.assign(this.place.dataset, { low: min, high: max });
  }

  noteZoom() {
    this.isZoomed = true;
  }

  unzoom() {
    this.isZoomed = false;
    this.plot.setData(this.alignData(), true);
  }

  drawLegend() {
    const buttons = this.given.lines.map((line, k) =>
      makeLegendButton(line, lineColor(line.color), !this.hidden.has(line.label), (isShown) =>
        this.toggle(line, k, isShown),
      ),
    );
    this.legend.replaceChildren(...buttons);
  }

  toggle(line, number, isShown) {
    if (isShown) this.hidden.delete(line.label);
    else this.hidden.add(line.label);
    this.plot.setSeries(number + 1, { show: isShown });
    for (const { low } of this.bands.filter((band) => band.line === line)) {
      this.plot.setSeries(low, { show: isShown });
      this.plot.setSeries(low + 1, { show: isShown });
    }
    this.describe();
  }

  // The values of all curves at or before the place pointed at.
  writeValues() {
    const at = this.plot?.cursor?.idx;
    if (at === null || at === undefined) {
      this.value.textContent = this.rest;
      return;
    }
    const { lines, xLabel } = this.given;
    const texts = lines.flatMap((line, k) => {
      const found = this.plot.data[k + 1][at];
      const isKnown = found !== null && found !== undefined && !this.hidden.has(line.label);
      return isKnown ? [`${line.label} ${formatNumber(found)}`] : [];
    });
    const where = `${xLabel ?? ""} ${formatNumber(this.plot.data[0][at], 6)}`;
    this.value.textContent = `${where}: ${texts.slice(0, MOST_VALUES).join("; ")}`;
  }

  fit() {
    const width = this.place.clientWidth;
    if (this.plot && width && Math.abs(this.plot.width - width) > 1) {
      this.plot.setSize({ width, height: this.height });
    }
  }
}
