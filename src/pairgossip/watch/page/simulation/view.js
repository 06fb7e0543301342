// The simulation view: settings on the left, the networks, the curves and the controls beside them.

import { ask } from "../common/api.js";
import { makeChart } from "../common/chart.js";
import { alertUser, copyText, make, showConnection } from "../common/elements.js";
import { Plot } from "../common/plot.js";
import { Controls } from "./controls.js";
import { boundRatio, explainCurves, plotRuns } from "./curves.js";
import { Ending } from "./ending.js";
import { SettingsForm } from "./form.js";
import { RunCard } from "./run-card.js";
import { Session } from "./session.js";

const CHART_HEIGHT = 360;
const KEYS = [
  ["space", "start or pause"],
  ["s", "one exchange"],
  ["r", "reset"],
  ["← →", "choose a node in the picture"],
  ["enter", "follow its observation"],
  ["esc", "stop following"],
];

export class SimulationView {
  constructor(place) {
    this.place = place;
    this.cards = [];
    this.runs = [];
    this.curves = [];
    this.theory = [];
    this.frames = [];
    this.resume = false;
  }

  async begin() {
    const search = new URLSearchParams(location.search);
    this.seed = search.get("seed") ?? "0";
    this.speed = search.get("speed") ?? "200";
    this.follow = search.get("follow") ?? "";
    this.session = this.makeSession(search.get("session") ?? "");
    this.controls = new Controls({
      onControl: (action) => this.session.control(action),
      onSeed: (seed) => this.changeSeed(seed),
      onSpeed: (speed) => this.changeSpeed(speed),
      onCopy: (button) => this.copyLink(button),
    });
    this.build();
    this.form = new SettingsForm(this.settings, await ask("/api/choices"), () => this.reopen());
    this.form.read(search);
    document.addEventListener("keydown", (event) => this.controls.pressKey(event));
    this.session.listen();
  }

  makeSession(key) {
    return new Session(key, {
      settings: () => this.fields(),
      onOpen: () => {
        alertUser("");
        this.writeAddress();
      },
      sendAgain: () => this.form.sendAgain(),
      handlers: {
        setup: (message) => this.setup(message),
        theory: (message) => this.showTheory(message),
        curve: (message) => this.showCurves(message),
        frame: (message) => this.showFrame(message),
        notice: ({ compiling }) => this.controls.showCompiling(compiling),
      },
      onChange: (state, problem) => this.changeConnection(state, problem),
    });
  }

  build() {
    this.controls.showSeed(this.seed);
    this.controls.showSpeed(this.speed);
    this.settings = make("form", { onsubmit: (event) => event.preventDefault() });
    const isWide = matchMedia("(min-width: 861px)").matches;
    const details = make(
      "details",
      { class: "settings card", open: isWide },
      make("summary", { text: "Settings" }),
      this.settings,
    );
    this.runsPlace = make("div", { class: "runs" });
    this.showEmpty("Preparing the network…");
    this.chart = makeChart({ id: "curves", label: "Curves", title: "Error" });
    this.chartNote = make("p");
    this.chart.element.append(this.chartNote);
    this.ending = new Ending((act) => this.tryNext(act));
    // Beside one network its numbers come first; two networks keep theirs below their pictures.
    this.numbers = make("div");
    const side = make("div", { class: "side" }, this.numbers, this.chart.element, this.makeKeys());
    this.stage = make(
      "section",
      { class: "stage one", id: "stage", "aria-label": "Simulation" },
      this.controls.element,
      this.ending.element,
      this.runsPlace,
      side,
    );
    this.place.replaceChildren(make("div", { class: "simulation" }, details, this.stage));
    this.plot = new Plot(this.chart.place, { ...this.chart, height: CHART_HEIGHT });
  }

  makeKeys() {
    const pairs = KEYS.flatMap(([key, what]) => [
      make("kbd", { text: key }),
      make("span", { text: ` ${what}` }),
    ]);
    return make("p", { class: "keys" }, ...pairs);
  }

  showEmpty(text) {
    this.runsPlace.replaceChildren(make("p", { class: "empty card", text }));
  }

  // What the server says.

  changeConnection(state, problem) {
    const isRefused = Boolean(problem && problem.status >= 400);
    if (isRefused) {
      showConnection("refused", "check the settings");
      alertUser(problem.message);
      if (!this.runs.length)
        this.showEmpty("Once the setting is corrected, the network appears here.");
    } else {
      showConnection(state);
    }
    this.form.blame(isRefused ? problem.argument : null);
    this.stage.classList.toggle("refused", isRefused);
    const isLost = state === "disconnected";
    if (isLost && !isRefused && this.controls.isRunning) this.resume = true;
    this.controls.setLost(isLost);
  }

  setup({ runs }) {
    for (const card of this.cards) card.close();
    const isAlone = runs.length === 1;
    this.stage.classList.toggle("one", isAlone);
    this.runs = runs;
    this.theory = [];
    this.curves = runs.map(() => []);
    this.frames = [];
    const handlers = {
      onFollow: (node) => this.session.control("follow-node", String(node)),
      onForget: () => this.session.control("forget"),
    };
    this.cards = runs.map((run, number) => new RunCard(run, number, handlers));
    this.runsPlace.replaceChildren(...this.cards.map((card) => card.element));
    this.numbers.className = isAlone ? "numbers card" : "";
    this.numbers.replaceChildren();
    for (const card of this.cards) {
      (isAlone ? this.numbers : card.element).append(card.numbers);
      card.draw();
    }
    this.drawChart();
    if (this.resume) {
      this.resume = false;
      this.session.control("start");
    }
  }

  showTheory({ runs }) {
    this.theory = runs;
    for (const [number, card] of this.cards.entries()) card.showRatio(this.ratio(number));
    this.drawChart();
  }

  showCurves({ runs }) {
    this.curves = runs;
    this.drawChart();
  }

  showFrame({ status, problem, runs, speed }) {
    if (problem) alertUser(problem);
    if (String(speed) !== this.speed) {
      this.speed = String(speed);
      this.controls.showSpeed(this.speed);
    }
    this.controls.showStatus(status);
    document.body.dataset.status = status;
    for (const card of this.cards) card.setQuiet(this.controls.isRunning);
    if (runs.length) this.showRuns(status, runs);
    if (status === "done") this.ending.show({ ...this, settings: this.form.settings });
    else this.ending.hide();
    this.drawChart();
  }

  showRuns(status, frames) {
    this.frames = frames;
    for (const [number, card] of this.cards.entries()) {
      card.update(frames[number], status, this.ratio(number));
    }
    this.controls.showProgress(Math.min(...frames.map(({ share }) => share)));
    const { token } = frames[0];
    const follow = token === null ? "" : String(token);
    if (this.runs[0].follows && follow !== this.follow) {
      this.follow = follow;
      this.writeAddress();
    }
  }

  ratio(number) {
    return boundRatio(this.theory[number], this.curves[number]);
  }

  drawChart() {
    if (!this.runs.length) return;
    this.chart.heading.textContent = this.runs[0].kind === "learning" ? "Objective" : "Error";
    this.chartNote.textContent = explainCurves(this);
    this.plot.show(plotRuns(this));
  }

  // What the viewer does.

  reopen() {
    this.resume = this.controls.isRunning;
    const { fields, dataset } = this.form.settings;
    const rows = Number(fields.nodes ?? dataset?.rows ?? Infinity);
    if (this.follow && Number(this.follow) >= rows) this.follow = "";
    this.session.renew();
  }

  changeSeed(seed) {
    this.seed = seed;
    this.controls.showSeed(seed);
    this.reopen();
  }

  changeSpeed(speed) {
    this.speed = speed;
    this.controls.showSpeed(speed);
    this.writeAddress();
    this.session.control("speed", speed);
  }

  // Without the session: each viewer who opens the link has a separate run.
  copyLink(button) {
    const link = new URL(location.href);
    link.searchParams.delete("session");
    copyText(button, link.href);
  }

  // A suggestion that was pressed starts by itself.
  tryNext(act) {
    this.form.change(act);
    this.resume = true;
  }

  fields() {
    const follow = this.follow ? { follow: this.follow } : {};
    return { ...this.form.fields, seed: this.seed, speed: this.speed, ...follow };
  }

  writeAddress() {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(this.fields())) {
      for (const each of Array.isArray(value) ? value : [value]) search.append(name, each);
    }
    search.set("session", this.session.key);
    history.replaceState(null, "", `/?${search}`);
  }
}
