// Saved runs: a list to choose from, their curves in one plot, and the facts about each.

import { ask } from "../common/api.js";
import { makeLegend } from "../common/chart.js";
import { lineColor } from "../common/colors.js";
import { alertUser, make, option } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";
import { Plot } from "../common/plot.js";

const MOST_CHOSEN = 8;
const FEW_GROUPS = 3; // up to this many, all are open
const CHART_HEIGHT = 400;
const [LONGEST_FACT, LONGEST_NAME] = [12, 16]; // of facts side by side; others have a line each
const HELP =
  "Drag over a part to enlarge it; a double click shows all again. Bands: 10 % to 90 % of the " +
  "trials, ± the spread over nodes, or as the legend says. The axis fits what was measured; " +
  "bounds may lie above it.";

export class RunsTab {
  title = "Saved runs";

  // onChange() is called when the address should say something else.
  constructor(panel, files, search, onChange) {
    Object.assign(this, { panel, files, onChange });
    this.loaded = new Map();
    const known = files.filter((file) => file.kind !== "damaged").map((file) => file.key);
    const asked = search.getAll("run").filter((key) => known.includes(key));
    this.chosen = search.has("run") ? asked.slice(0, MOST_CHOSEN) : known.slice(0, 1);
    this.what = search.get("what") ?? "";
    this.against = search.get("x") ?? "exchanges";
    this.scale = search.get("scale") ?? "";
  }

  address() {
    const found = this.chosen.map((key) => ["run", key]);
    found.push(["what", this.what], ["x", this.against]);
    if (this.scale) found.push(["scale", this.scale]);
    return found;
  }

  close() {
    this.plot.close();
  }

  async show() {
    const place = make("div", { class: "plot", id: "result-curves" });
    this.legend = makeLegend();
    this.value = make("p", { class: "value" });
    this.facts = make("div", { class: "fact-cards" });
    const chart = make(
      "section",
      { class: "card chart", "aria-label": "Curves" },
      this.makeControls(),
      place,
      this.value,
      this.legend,
      make("p", { text: HELP }),
    );
    const stage = make("div", { class: "stage" }, chart, this.facts);
    this.panel.replaceChildren(make("div", { class: "results-two" }, this.makeList(), stage));
    this.plot = new Plot(place, { legend: this.legend, value: this.value, height: CHART_HEIGHT });
    await this.load();
  }

  makeList() {
    const groups = new Map();
    for (const file of this.files) {
      groups.set(file.group, [...(groups.get(file.group) ?? []), file]);
    }
    const parts = [...groups].map(([group, files]) => {
      const entries = files.map((file) => this.makeEntry(file));
      if (!group) return make("div", {}, ...entries);
      const isChosen = files.some((file) => this.chosen.includes(file.key));
      const open = groups.size <= FEW_GROUPS || isChosen;
      return make("details", { open }, make("summary", { text: group }), ...entries);
    });
    return make("nav", { class: "card run-list", "aria-label": "Saved runs" }, ...parts);
  }

  makeEntry({ key, name, kind, about }) {
    const box = make("input", {
      type: "checkbox",
      checked: this.chosen.includes(key),
      disabled: kind === "damaged",
      "data-run": key,
      onchange: () => this.toggle(key, box),
    });
    const texts = make(
      "span",
      {},
      make("span", { class: "name", text: name }),
      make("span", { class: "sub", text: about }),
    );
    return make("label", { class: `run-entry ${kind}`, title: about }, box, texts);
  }

  makeControls() {
    const change = (fields) => {
      Object.assign(this, fields);
      this.redraw();
    };
    this.whatSelect = make("select", {
      id: "what",
      onchange: (event) => change({ what: event.target.value, scale: "" }),
    });
    this.axisSelect = make("select", {
      id: "against",
      onchange: (event) => change({ against: event.target.value }),
    });
    this.logBox = make("input", {
      type: "checkbox",
      id: "log-y",
      onchange: (event) => change({ scale: event.target.checked ? "log" : "linear" }),
    });
    const all = { type: "button", id: "unzoom", text: "Show all" };
    return make(
      "div",
      { class: "controls" },
      make("label", {}, make("span", { text: "draw" }), this.whatSelect),
      make("label", {}, make("span", { text: "against" }), this.axisSelect),
      make("label", { class: "check" }, this.logBox, make("span", { text: "logarithmic" })),
      make("button", { ...all, onclick: () => this.plot.unzoom() }),
    );
  }

  async toggle(key, box) {
    if (!box.checked) this.chosen = this.chosen.filter((each) => each !== key);
    else if (this.chosen.length >= MOST_CHOSEN) {
      box.checked = false;
      alertUser(`${MOST_CHOSEN} runs are shown already: leave one out first.`);
      return;
    } else this.chosen.push(key);
    alertUser("");
    await this.load();
  }

  async load() {
    for (const key of this.chosen.filter((each) => !this.loaded.has(each))) {
      try {
        this.loaded.set(key, await ask(`/api/results/runs/${encodeURIComponent(key)}`));
      } catch (problem) {
        alertUser(problem.message);
        this.chosen = this.chosen.filter((each) => each !== key);
        const box = this.panel.querySelector(`[data-run="${CSS.escape(key)}"]`);
        if (box) box.checked = false;
      }
    }
    this.redraw();
  }

  redraw() {
    const results = this.chosen.map((key) => this.loaded.get(key)).filter(Boolean);
    const axes = this.showChoices(results);
    const shown = results.filter(({ charts, axes }) => this.what in charts && this.against in axes);
    const charts = shown.map((result) => result.charts[this.what]);
    const isLog = charts.length > 0 && charts.every((chart) => chart.log);
    const yLog = this.scale ? this.scale === "log" : isLog;
    this.logBox.checked = yLog;
    this.plot.rest = shown.length ? "" : "Choose a run from the list.";
    this.value.textContent = this.plot.rest;
    this.plot.show({
      lines: shown.flatMap((result) => this.makeLines(result, shown)),
      xLabel: axes.get(this.against) ?? "",
      yLabel: [...new Set(charts.map((chart) => chart.label))].join(" / "),
      xLog: shown.every((result) => result.axes[this.against].values[0] > 0),
      yLog,
      walls: this.what === "error" ? this.findWalls(shown) : [],
    });
    this.facts.replaceChildren(
      ...results.map((result) => this.makeFacts(result, shown.length > 1)),
    );
    this.onChange();
  }

  // Where no method can have an answer yet, once for all runs that agree on it.
  findWalls(shown) {
    const found = shown.map((result) => result.axes[this.against].wall).filter(Boolean);
    return [...new Map(found).entries()];
  }

  // What the chosen runs have to draw; return the axes, from name to label.
  showChoices(results) {
    const charts = results.flatMap((result) => Object.entries(result.charts));
    const kinds = new Map(charts.map(([kind, { title }]) => [kind, title]));
    if (!kinds.has(this.what)) this.what = [...kinds.keys()][0] ?? "";
    const drawn = results.filter((result) => this.what in result.charts);
    const entries = drawn.flatMap((result) => Object.entries(result.axes));
    const axes = new Map(entries.map(([name, { label }]) => [name, label]));
    if (!axes.has(this.against)) this.against = [...axes.keys()][0] ?? "exchanges";
    this.whatSelect.replaceChildren(
      ...[...kinds].map(([kind, title]) => option(kind, title, this.what)),
    );
    this.axisSelect.replaceChildren(
      ...[...axes].map(([name, label]) => option(name, label, this.against)),
    );
    return axes;
  }

  // Runs that are compared differ by color, else the curves of the only one do.
  makeLines(result, shown) {
    const isAlone = shown.length === 1;
    const x = result.axes[this.against].values;
    const front = isAlone ? "" : `${shortName(result, shown)}: `;
    return result.charts[this.what].curves.map((curve, k) => ({
      label: front + curve.label,
      x,
      y: curve.values,
      dash: curve.dash,
      aside: curve.aside,
      color: isAlone ? k : this.chosen.indexOf(result.key),
      band: curve.band ? { x, low: curve.band[0], high: curve.band[1] } : null,
      isBand: curve.values.every((value) => value === null),
    }));
  }

  makeFacts(result, isColored) {
    const head = make("h2", { text: longName(result) });
    if (isColored) {
      const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = lineColor(this.chosen.indexOf(result.key));
      head.prepend(swatch, " ");
    }
    const facts = result.facts.map(([name, value]) => {
      const text = formatFact(value);
      const isLong = text.length > LONGEST_FACT || name.length > LONGEST_NAME;
      const parts = [make("dt", { text: name }), make("dd", { text })];
      return make("div", { class: isLong ? "wide" : "" }, ...parts);
    });
    return make(
      "article",
      { class: "card facts-card" },
      head,
      make("p", { class: "sub", text: result.title }),
      make("dl", { class: "readouts" }, ...facts),
    );
  }
}

function longName({ group, name }) {
  return group ? `${group}/${name}` : name;
}

function shortName(result, all) {
  const isOnly = all.filter((each) => each.name === result.name).length === 1;
  return isOnly ? result.name : `${result.group}/${result.name}`;
}

function formatFact(value) {
  if (typeof value !== "number") return value ?? "unknown";
  return Number.isInteger(value) ? formatCount(value) : formatNumber(value, 6);
}
