// The results view: saved runs to compare, and the figures of a reproduction to look into.

import { ask } from "../common/api.js";
import { alertUser, make, showConnection } from "../common/elements.js";
import { formatCount } from "../common/numbers.js";
import { FiguresTab } from "./figures.js";
import { RunsTab } from "./runs.js";

export class ResultsView {
  constructor(place) {
    this.place = place;
    this.shown = null;
  }

  async begin() {
    const search = new URLSearchParams(location.search);
    const { files, reports, has_figures: hasFigures } = await ask("/api/results");
    const onChange = () => this.writeAddress();
    this.panel = make("div", { id: "results-panel", role: "tabpanel" });
    this.tabs = new Map();
    if (hasFigures) this.tabs.set("figures", new FiguresTab(this.panel, search, onChange));
    this.tabs.set("runs", new RunsTab(this.panel, files, search, onChange));
    showConnection(
      "connected",
      `${formatCount(files.length)} saved ${files.length === 1 ? "run" : "runs"}`,
    );
    this.build(reports);
    const usual = search.has("run") ? "runs" : [...this.tabs.keys()][0];
    const asked = search.get("tab");
    await this.show(this.tabs.has(asked) ? asked : usual);
  }

  build(reports) {
    const buttons = [...this.tabs].map(([name, tab]) =>
      make("button", {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": "results-panel",
        text: tab.title,
        onclick: () => this.show(name),
        onkeydown: (event) => this.pressKey(event),
      }),
    );
    this.buttons = make(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Results" },
      ...buttons,
    );
    const links = reports.flatMap(({ key, place }) => [
      make("a", {
        href: `/api/results/reports/${encodeURIComponent(key)}`,
        download: "report.html",
        text: "Download the whole report",
      }),
      make("span", { class: "sub", text: ` it lies in ${place}` }),
    ]);
    const head = make(
      "div",
      { class: "results-head" },
      this.buttons,
      make("p", { class: "report-links" }, ...links),
    );
    this.place.replaceChildren(make("div", { class: "results", id: "stage" }, head, this.panel));
  }

  pressKey(event) {
    const all = [...this.buttons.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    next.focus();
    next.click();
  }

  async show(name) {
    for (const button of this.buttons.children) {
      const isChosen = button.id === `tab-${name}`;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${name}`);
    this.tabs.get(this.shown)?.close();
    this.shown = name;
    try {
      await this.tabs.get(name).show();
    } catch (problem) {
      alertUser(problem.message);
    }
    this.writeAddress();
  }

  writeAddress() {
    const search = new URLSearchParams({ view: "results", tab: this.shown });
    for (const [name, value] of this.tabs.get(this.shown).address()) search.append(name, value);
    history.replaceState(null, "", `/?${search}`);
  }
}
