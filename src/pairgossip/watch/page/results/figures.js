// The figures of a reproduction's report, chapter by chapter, with explanations.

import { ask } from "../common/api.js";
import { makeLegend } from "../common/chart.js";
import { make } from "../common/elements.js";
import { Plot } from "../common/plot.js";

const WAITING = 700; // milliseconds
const PANEL_HEIGHT = 300;
const MARKS = { holds: "✓", "holds in part": "◐", "does not hold": "✗", undecided: "?" };

export class FiguresTab {
  title = "Figures of the report";

  // onChange() is called when another chapter is shown.
  constructor(panel, search, onChange) {
    this.panel = panel;
    this.onChange = onChange;
    this.chosen = search.get("chapter") ?? "";
    this.plots = [];
  }

  address() {
    return [["chapter", this.chosen]];
  }

  close() {
    this.isShown = false;
    this.closePlots();
  }

  closePlots() {
    for (const plot of this.plots) plot.close();
    this.plots = [];
  }

  async show() {
    this.isShown = true;
    if (!this.chapters) {
      this.showWaiting("Making the figures from the saved results…");
      await this.load();
    }
    if (!this.isShown) return;
    if (this.chapters.length) this.draw();
    else this.showWaiting("This reproduction has no results yet.");
  }

  showWaiting(text) {
    this.panel.replaceChildren(make("p", { class: "waiting", role: "status", text }));
  }

  // They take the server some seconds; meanwhile the viewer may have gone elsewhere.
  async load() {
    while (this.isShown && !this.chapters) {
      const { chapters } = await ask("/api/results/figures");
      if (chapters) this.chapters = chapters;
      else await new Promise((resume) => setTimeout(resume, WAITING));
    }
  }

  choose(key) {
    this.close();
    this.chosen = key;
    this.show();
    this.onChange();
  }

  draw() {
    this.closePlots();
    const chapter = this.chapters.find((each) => each.key === this.chosen) ?? this.chapters[0];
    this.chosen = chapter.key;
    const stage = make("div", { class: "stage" }, ...this.makeChapter(chapter));
    const columns = make("div", { class: "results-two" }, this.makeList(chapter), stage);
    this.panel.replaceChildren(columns);
  }

  makeList(chapter) {
    const buttons = this.chapters.map((each) =>
      make("button", {
        type: "button",
        class: "chapter",
        "data-chapter": each.key,
        "aria-current": each === chapter ? "true" : null,
        text: each.title,
        onclick: () => this.choose(each.key),
      }),
    );
    const about = { class: "card run-list chapters", "aria-label": "Experiments" };
    return make("nav", about, ...buttons);
  }

  makeChapter({ title, question, problem, figures, findings, claims }) {
    const head = make(
      "header",
      { class: "chapter-head" },
      make("h2", { text: title }),
      make("p", { text: question }),
    );
    return [
      head,
      problem ? make("p", { class: "alert inline", text: problem }) : null,
      ...figures.map((figure) => this.makeFigure(figure)),
      findings.length ? makeFindings(findings) : null,
      claims.length ? makeClaims(claims) : null,
    ];
  }

  makeFigure({ name, caption, panels }) {
    const width = Math.min(panels.length, 3);
    const place = make(
      "div",
      { class: `panels of-${width}` },
      ...panels.map((panel) => this.makePanel(panel)),
    );
    if (!panels.length) {
      const text = "This figure has no curves; it is in the report.";
      place.append(make("p", { class: "sub", text }));
    }
    const about = { class: "card figure", "data-figure": name };
    return make("figure", about, place, make("figcaption", { text: caption }));
  }

  makePanel(panel) {
    const place = make("div", { class: "plot" });
    const legend = makeLegend();
    const value = make("p", { class: "value" });
    const plot = new Plot(place, { legend, value, height: PANEL_HEIGHT });
    this.plots.push(plot);
    const given = {
      lines: panel.curves,
      xLabel: panel.x_label,
      yLabel: panel.y_label,
      xLog: panel.x_log,
      yLog: panel.y_log,
      xTicks: panel.x_ticks,
      yTicks: panel.y_ticks,
    };
    // After it is in the page, where it has a width.
    requestAnimationFrame(() => plot.show(given));
    return make("div", { class: "panel" }, make("h3", { text: panel.title }), place, value, legend);
  }
}

function makeFindings(findings) {
  const texts = findings.map((text) => make("p", { text }));
  return make("section", { class: "card prose" }, make("h2", { text: "Findings" }), ...texts);
}

function makeClaims(claims) {
  const entries = claims.map(([verdict, statement, evidence]) =>
    make(
      "details",
      { "data-verdict": verdict },
      make(
        "summary",
        {},
        make("span", { class: "verdict", text: `${MARKS[verdict] ?? "?"} ${verdict}` }),
        make("span", { text: ` ${statement}` }),
      ),
      make("p", { text: evidence }),
    ),
  );
  const heading = make("h2", { text: "Statements that were checked" });
  return make("section", { class: "card prose claims" }, heading, ...entries);
}
