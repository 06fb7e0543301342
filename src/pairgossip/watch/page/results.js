// The results view: saved runs to compare, and the figures of a reproduction to look into.

import { ask } from "./api.js";
import { alertUser, make, option } from "./elements.js";
import { counted, spelled } from "./numbers.js";
import { Plot, seriesColor } from "./plot.js";

const MOST_CHOSEN = 8;
const WAITING = 700; // milliseconds
const MARKS = { "holds": "✓", "holds in part": "◐", "does not hold": "✗", "undecided": "?" };
const KINDS = { error: "error", estimate: "estimate", spread: "spread over nodes", objective: "objective", disagreement: "disagreement", bias: "gradient bias" };

export class ResultsView {
  constructor(place) {
    this.place = place;
    this.loaded = new Map();
    this.plots = [];
  }

  async begin() {
    const search = new URLSearchParams(location.search);
    this.chosen = search.getAll("run");
    this.what = search.get("what") ?? "";
    this.against = search.get("x") ?? "exchanges";
    this.scale = search.get("scale") ?? "";
    this.tab = search.get("tab") ?? "runs";
    this.chapter = search.get("chapter") ?? "";
    this.listed = await ask("/api/results");
    const known = new Set(this.listed.files.filter((file) => file.kind !== "damaged").map((file) => file.key));
    this.chosen = this.chosen.filter((key) => known.has(key)).slice(0, MOST_CHOSEN);
    const isFirst = !search.getAll("run").length;
    if (isFirst) this.chosen = [...known].slice(0, 1);
    if (!this.listed.has_figures) this.tab = "runs";
    const pill = document.getElementById("connection");
    pill.textContent = `${counted(this.listed.files.length)} saved ${this.listed.files.length === 1 ? "run" : "runs"}`;
    pill.dataset.state = "connected";
    this.build();
    await this.showTab(isFirst && this.listed.has_figures && !search.get("tab") ? "figures" : this.tab);
  }

  build() {
    this.tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "Results" });
    for (const [name, label] of [["figures", "Figures of the report"], ["runs", "Saved runs"]]) {
      if (name === "figures" && !this.listed.has_figures) continue;
      this.tabs.append(make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "results-panel", text: label, onclick: () => this.showTab(name), onkeydown: (event) => this.tabKey(event) }));
    }
    this.links = make("p", { class: "report-links" });
    for (const { key, place } of this.listed.reports) {
      this.links.append(make("a", { href: `/api/results/reports/${encodeURIComponent(key)}`, download: "report.html", text: "Download the whole report" }), make("span", { class: "sub", text: ` it lies in ${place}` }));
    }
    this.panel = make("div", { id: "results-panel", role: "tabpanel" });
    this.place.replaceChildren(make("div", { class: "results", id: "stage" }, make("div", { class: "results-head" }, this.tabs, this.links), this.panel));
  }

  tabKey(event) {
    const all = [...this.tabs.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    next.focus();
    next.click();
  }

  async showTab(tab) {
    this.tab = tab;
    for (const button of this.tabs.children) {
      const isChosen = button.id === `tab-${tab}`;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${tab}`);
    this.plots.forEach((plot) => plot.close());
    this.plots = [];
    try {
      if (tab === "figures") await this.showFigures();
      else await this.showRuns();
    } catch (problem) {
      alertUser(problem.message);
    }
    this.writeAddress();
  }

  // Saved runs.

  async showRuns() {
    const list = make("nav", { class: "card run-list", "aria-label": "Saved runs" });
    const groups = Map.groupBy ? Map.groupBy(this.listed.files, (file) => file.group) : this.grouped();
    for (const [group, files] of groups) {
      const isOpen = groups.size < 4 || files.some((file) => this.chosen.includes(file.key));
      const entries = files.map((file) => this.entry(file));
      list.append(group ? make("details", { open: isOpen }, make("summary", { text: group }), ...entries) : make("div", {}, ...entries));
    }
    this.whatSelect = make("select", { id: "what", onchange: () => { this.what = this.whatSelect.value; this.scale = ""; this.redraw(); } });
    this.axisSelect = make("select", { id: "against", onchange: () => { this.against = this.axisSelect.value; this.redraw(); } });
    this.logBox = make("input", { type: "checkbox", id: "log-y", onchange: () => { this.scale = this.logBox.checked ? "log" : "linear"; this.redraw(); } });
    this.legend = make("div", { class: "legend", role: "group", "aria-label": "Curves shown" });
    const place = make("div", { class: "plot", id: "result-curves" });
    this.value = make("p", { class: "value" });
    const chart = make("section", { class: "card chart", "aria-label": "Curves" },
      make("div", { class: "controls" },
        make("label", {}, make("span", { text: "draw" }), this.whatSelect),
        make("label", {}, make("span", { text: "against" }), this.axisSelect),
        make("label", { class: "check" }, this.logBox, make("span", { text: "logarithmic" })),
        make("button", { type: "button", id: "unzoom", text: "Show all", onclick: () => this.plot.unzoom() })),
      place, this.value, this.legend,
      make("p", { text: "Drag over a part to enlarge it; a double click shows all again. Bands: 10 % to 90 % of the trials, or ± the spread over nodes. The axis fits what was measured; bounds may lie above it." }));
    this.factsPlace = make("div", { class: "fact-cards" });
    this.panel.replaceChildren(make("div", { class: "results-two" }, list, make("div", { class: "stage" }, chart, this.factsPlace)));
    this.plot = new Plot(place, { legend: this.legend, value: this.value, height: 400 });
    this.plots.push(this.plot);
    await this.load();
  }

  grouped() {
    const groups = new Map();
    for (const file of this.listed.files) groups.set(file.group, [...(groups.get(file.group) ?? []), file]);
    return groups;
  }

  entry(file) {
    const box = make("input", { type: "checkbox", checked: this.chosen.includes(file.key), disabled: file.kind === "damaged", "data-run": file.key, onchange: () => this.toggle(file.key, box) });
    return make("label", { class: `run-entry ${file.kind}`, title: file.about }, box, make("span", {}, make("span", { class: "name", text: file.name }), make("span", { class: "sub", text: file.about })));
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
    this.writeAddress();
  }

  async load() {
    for (const key of this.chosen) {
      if (this.loaded.has(key)) continue;
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
    const kinds = [...new Set(results.flatMap((result) => Object.keys(result.charts)))];
    if (!kinds.includes(this.what)) this.what = kinds[0] ?? "";
    const drawn = results.filter((result) => this.what in result.charts);
    const axes = new Map(drawn.flatMap((result) => Object.entries(result.axes).map(([name, { label }]) => [name, label])));
    if (!axes.has(this.against)) this.against = [...axes.keys()][0] ?? "exchanges";
    this.whatSelect.replaceChildren(...kinds.map((kind) => option(kind, KINDS[kind] ?? kind, this.what)));
    this.axisSelect.replaceChildren(...[...axes].map(([name, label]) => option(name, label, this.against)));
    const shown = drawn.filter((result) => this.against in result.axes);
    const charts = shown.map((result) => result.charts[this.what]);
    const log = this.scale ? this.scale === "log" : charts.length > 0 && charts.every((chart) => chart.log);
    this.logBox.checked = log;
    const x = (result) => result.axes[this.against].values;
    const xLog = shown.every((result) => x(result)[0] > 0);
    const lines = shown.flatMap((result, number) => result.charts[this.what].curves.map((curve, k) => ({
      label: shown.length > 1 ? `${this.named(result, shown)}: ${curve.label}` : curve.label,
      x: x(result), y: curve.values, dash: curve.dash, aside: curve.aside,
      color: shown.length > 1 ? this.chosen.indexOf(result.key) : k,
      band: curve.band ? { x: x(result), low: curve.band[0], high: curve.band[1] } : null,
    })));
    const labels = [...new Set(charts.map((chart) => chart.label))];
    this.plot.rest = shown.length ? "" : "Choose a run from the list.";
    this.value.textContent = this.plot.rest;
    this.plot.show({ lines, xLabel: axes.get(this.against) ?? "", yLabel: labels.join(" / "), xLog, yLog: log });
    this.showFacts(results, shown.length > 1);
    this.writeAddress();
  }

  named(result, all) {
    const isAlone = all.filter((each) => each.name === result.name).length === 1;
    return isAlone ? result.name : `${result.group}/${result.name}`;
  }

  showFacts(results, isColored) {
    this.factsPlace.replaceChildren(...results.map((result) => {
      const head = make("h2", { text: result.group ? `${result.group}/${result.name}` : result.name });
      if (isColored) {
        const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
        swatch.style.background = seriesColor(this.chosen.indexOf(result.key));
        head.prepend(swatch, " ");
      }
      const facts = result.facts.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: typeof value === "number" ? (Number.isInteger(value) ? counted(value) : spelled(value, 6)) : value ?? "unknown" })));
      return make("article", { class: "card facts-card" }, head, make("p", { class: "sub", text: result.title }), make("dl", { class: "readouts" }, ...facts));
    }));
  }

  // The report's figures.

  async showFigures() {
    if (!this.chapters) {
      this.panel.replaceChildren(make("p", { class: "waiting", role: "status", text: "Making the figures from the saved results…" }));
      const asked = await this.askForChapters();
      if (!asked) return;
    }
    if (!this.chapters.length) {
      this.panel.replaceChildren(make("p", { class: "waiting", text: "This reproduction has no results yet." }));
      return;
    }
    const chapter = this.chapters.find((each) => each.key === this.chapter) ?? this.chapters[0];
    this.chapter = chapter.key;
    const list = make("nav", { class: "card run-list chapters", "aria-label": "Experiments" }, ...this.chapters.map((each) => {
      const button = make("button", { type: "button", class: "chapter", "data-chapter": each.key, text: each.title, onclick: () => { this.chapter = each.key; this.showTab("figures"); } });
      if (each === chapter) button.setAttribute("aria-current", "true");
      return button;
    }));
    const stage = make("div", { class: "stage" });
    this.panel.replaceChildren(make("div", { class: "results-two" }, list, stage));
    stage.append(make("header", { class: "chapter-head" }, make("h2", { text: chapter.title }), make("p", { text: chapter.question })));
    if (chapter.problem) stage.append(make("p", { class: "alert inline", text: chapter.problem }));
    for (const figure of chapter.figures) stage.append(this.figure(figure));
    if (chapter.findings.length) stage.append(make("section", { class: "card prose" }, make("h2", { text: "Findings" }), ...chapter.findings.map((text) => make("p", { text }))));
    if (chapter.claims.length) stage.append(this.claims(chapter.claims));
  }

  // They take the server some seconds; meanwhile the viewer may have gone elsewhere.
  async askForChapters() {
    while (this.tab === "figures") {
      const { chapters } = await ask("/api/results/figures");
      if (chapters) {
        this.chapters = chapters;
        return this.tab === "figures";
      }
      await new Promise((resume) => setTimeout(resume, WAITING));
    }
    return false;
  }

  figure(figure) {
    const panels = make("div", { class: `panels of-${Math.min(figure.panels.length, 3)}` });
    for (const panel of figure.panels) {
      const place = make("div", { class: "plot" });
      const legend = make("div", { class: "legend", role: "group", "aria-label": "Curves shown" });
      const value = make("p", { class: "value" });
      panels.append(make("div", { class: "panel" }, make("h3", { text: panel.title }), place, value, legend));
      const plot = new Plot(place, { legend, value, height: 300 });
      this.plots.push(plot);
      // After it is in the page, where it has a width.
      requestAnimationFrame(() => plot.show({
        lines: panel.curves.map((curve) => ({ label: curve.label, x: curve.x, y: curve.y, color: curve.color, dash: curve.dash, points: curve.points, band: curve.band })),
        xLabel: panel.x_label, yLabel: panel.y_label, xLog: panel.x_log, yLog: panel.y_log, xTicks: panel.x_ticks, yTicks: panel.y_ticks,
      }));
    }
    if (!figure.panels.length) panels.append(make("p", { class: "sub", text: "This figure has no curves; it is in the report." }));
    return make("figure", { class: "card figure", "data-figure": figure.name }, panels, make("figcaption", { text: figure.caption }));
  }

  claims(claims) {
    return make("section", { class: "card prose claims" }, make("h2", { text: "Statements that were checked" }), ...claims.map(([verdict, statement, evidence]) => make("details", { "data-verdict": verdict },
      make("summary", {}, make("span", { class: "verdict", text: `${MARKS[verdict] ?? "?"} ${verdict}` }), make("span", { text: ` ${statement}` })), make("p", { text: evidence }))));
  }

  writeAddress() {
    const search = new URLSearchParams({ view: "results", tab: this.tab });
    if (this.tab === "figures") search.set("chapter", this.chapter);
    else {
      for (const key of this.chosen) search.append("run", key);
      search.set("what", this.what);
      search.set("x", this.against);
      if (this.scale) search.set("scale", this.scale);
    }
    history.replaceState(null, "", `/?${search}`);
  }
}
