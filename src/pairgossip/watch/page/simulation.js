// The simulation view: settings on the left, the networks, the curves and the controls beside them.

import { ask } from "./api.js";
import { CurveChart } from "./chart.js";
import { paintBar } from "./colors.js";
import { alertUser, make } from "./elements.js";
import { SettingsForm } from "./form.js";
import { NetworkPicture } from "./network.js";
import { counted, spelled } from "./numbers.js";
import { Readouts } from "./readouts.js";
import { Stream } from "./stream.js";

const SPEEDS = ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000", "2000", "5000", "10000", "20000", "50000", "100000", "1000000", "max"];
const RUN_COLORS = ["--accent", "--second"];

export class SimulationView {
  constructor(place) {
    this.place = place;
    this.runs = [];
    this.curves = [];
    this.theory = [];
    this.status = "ready";
    this.updates = 0;
    this.resume = false;
    this.lost = true; // until the server has answered
  }

  async begin() {
    const search = new URLSearchParams(location.search);
    this.session = search.get("session") ?? "";
    this.seed = search.get("seed") ?? "0";
    this.speed = search.get("speed") ?? "200";
    this.follow = search.get("follow") ?? "";
    this.build();
    this.form = new SettingsForm(this.settings, await ask("/api/choices"), () => this.reopen());
    this.form.read(search);
    this.form.draw();
    this.showSpeed();
    this.freeze();
    document.addEventListener("keydown", (event) => this.shortcut(event));
    this.listen();
  }

  // The page.

  build() {
    this.settings = make("form", { onsubmit: (event) => event.preventDefault() });
    const details = make("details", { class: "settings card", open: matchMedia("(min-width: 861px)").matches }, make("summary", { text: "Settings" }), this.settings);
    this.startButton = make("button", { id: "start", type: "button", class: "primary", text: "Start", onclick: () => this.startOrPause() });
    this.stepButton = make("button", { id: "step-one", type: "button", text: "Step", title: "one step: the next exchange", onclick: () => this.control("step") });
    this.resetButton = make("button", { id: "reset", type: "button", text: "Reset", onclick: () => this.control("reset") });
    this.seedInput = make("input", { id: "seed", type: "number", min: 0, step: 1, value: this.seed, onchange: () => this.changeSeed(this.seedInput.value) });
    this.newSeed = make("button", { id: "new-seed", type: "button", text: "next", "aria-label": "next seed", title: "the next seed: other luck", onclick: () => this.changeSeed(String(Number(this.seed) + 1)) });
    this.copyButton = make("button", { id: "copy-link", type: "button", text: "Copy link", title: "all settings are in it: whoever opens it watches the same run", onclick: () => this.copyLink() });
    this.speedInput = make("input", { id: "speed", type: "range", min: 0, max: SPEEDS.length - 1, step: 1, oninput: () => this.changeSpeed(SPEEDS[this.speedInput.value]) });
    this.speedText = make("output", { for: "speed" });
    this.bar = make("div");
    this.statusText = make("span", { class: "pill", role: "status", id: "run-status", text: "ready" });
    const toolbar = make("div", { class: "toolbar card", role: "group", "aria-label": "Controls" },
      this.startButton, this.stepButton, this.resetButton,
      make("div", { class: "seeding" }, make("label", { class: "seed" }, make("span", { text: "seed" }), this.seedInput), this.newSeed), this.copyButton,
      make("label", { class: "speed" }, make("span", { text: "speed" }), this.speedInput, this.speedText),
      make("div", { class: "course" }, this.statusText, make("div", { class: "progress", "aria-hidden": "true" }, this.bar)));
    this.runsPlace = make("div", { class: "runs" }, make("p", { class: "empty card", text: "Preparing the network…" }));
    const plot = make("div", { class: "plot", id: "curves" });
    this.chartTitle = make("h2", { text: "Error" });
    const legend = make("div", { class: "legend", role: "group", "aria-label": "Curves shown" });
    this.chartNote = make("p");
    this.chartValue = make("p", { class: "value" });
    const chart = make("section", { class: "chart card", "aria-label": "Curves" }, make("div", { class: "head" }, this.chartTitle, legend), plot, this.chartValue, this.chartNote);
    const keys = make("p", { class: "keys" });
    for (const [key, what] of [["space", "start or pause"], ["s", "one exchange"], ["r", "reset"], ["← →", "choose a node in the picture"], ["enter", "follow its observation"], ["esc", "stop following"]]) {
      keys.append(make("kbd", { text: key }), make("span", { text: ` ${what}` }));
    }
    // Beside one network its numbers come first; two networks keep theirs below their pictures.
    this.numbers = make("div");
    const side = make("div", { class: "side" }, this.numbers, chart, keys);
    this.stage = make("section", { class: "stage one", id: "stage", "aria-label": "Simulation" }, toolbar, this.runsPlace, side);
    this.place.replaceChildren(make("div", { class: "simulation" }, details, this.stage));
    this.chart = new CurveChart(plot, { title: this.chartTitle, legend, note: this.chartNote });
    this.chart.onValue = (x, values) => {
      this.chartValue.textContent = `after ${counted(x)}: ${values.map(([label, value]) => `${label} ${spelled(value)}`).join(", ")}`;
    };
  }

  buildRun(run, number) {
    const canvas = make("canvas", {
      tabIndex: 0, role: "application", "data-run": String(number),
      "aria-label": `Network of ${run.nodes} nodes. Arrow keys choose a node, Enter follows its observation, Escape stops following.`,
    });
    const about = make("p", { class: "about", "aria-live": "polite", text: run.note ?? "" });
    const bar = make("canvas", { "aria-hidden": "true" });
    const ticks = [make("span"), make("span"), make("span")];
    const readouts = make("dl", { class: "readouts" });
    const hint = make("p", { class: "first", text: `Each of the ${counted(run.nodes)} nodes holds one row of the data and knows nothing else yet. Press Start, and watch them find out.`, hidden: true });
    const stop = make("button", { type: "button", text: "stop following", hidden: true, onclick: () => this.forget() });
    const followed = make("span", { text: run.follows ? "Click a node to follow the observation it holds." : "This method moves no observations to follow." });
    const parameters = Object.entries(run.parameters).map(([name, value]) => `${name} = ${typeof value === "number" ? spelled(value) : value}`).join(", ");
    const sub = `${counted(run.nodes)} nodes, ${counted(run.edge_count)} edges${parameters ? `, ${parameters}` : ""}`;
    const article = make("article", { class: "run card" },
      make("div", { class: "title" }, make("span", { class: "swatch", "aria-hidden": "true", text: String(number + 1) }), make("h2", { text: run.title }), make("span", { class: "sub", text: sub })),
      make("div", { class: "picture" }, canvas),
      make("div", { class: "facts" },
        make("div", { class: "bar" }, bar, make("div", { class: "ticks" }, ...ticks), make("p", { text: `${run.colored}: blue below, orange above the ${run.middle.replace(/^the /, "")}; gray: not known yet` })),
        make("div", { class: "said" }, hint, make("div", { class: "follow" }, followed, stop), about)));
    this.runsPlace.append(article);
    const alone = this.runs.length === 1;
    this.numbers.className = alone ? "numbers card" : "";
    if (number === 0) this.numbers.replaceChildren();
    (alone ? this.numbers : article).append(readouts);
    const view = { run, canvas, about, hint, bar, ticks, followed, stop, readouts: new Readouts(readouts) };
    view.picture = new NetworkPicture(canvas, {
      chosen: (node) => run.follows && this.control("follow-node", String(node)),
      pointed: (node) => this.describeNode(view, node),
      forgotten: () => this.forget(),
    });
    view.readouts.setup(run);
    view.picture.setup(run);
    paintBar(bar);
    return view;
  }

  // The session on the server.

  fields() {
    return { ...this.form.fields, seed: this.seed, speed: this.speed, ...(this.follow ? { follow: this.follow } : {}) };
  }

  // Only the newest opening counts: settings may change while an answer is on its way.
  openSession() {
    this.opening = this.askForSession();
    return this.opening;
  }

  async askForSession() {
    this.turn = (this.turn ?? 0) + 1;
    const turn = this.turn;
    let session;
    try {
      ({ session } = await ask("/api/sessions", { json: { settings: this.fields(), session: this.session } }));
    } catch (problem) {
      if (turn !== this.turn) return null;
      const isGone = problem.status === 400 && problem.message.startsWith("The uploaded file is no longer here");
      if (isGone && await this.form.sendAgain()) return this.askForSession();
      throw problem;
    }
    if (turn !== this.turn) return null;
    this.session = session;
    alertUser("");
    this.writeAddress();
    return `/api/sessions/${encodeURIComponent(this.session)}/events`;
  }

  listen() {
    this.stream?.close();
    this.stream = new Stream(() => this.openSession(), {
      setup: (message) => this.setup(message),
      theory: (message) => this.hearTheory(message),
      curve: (message) => this.hearCurves(message),
      frame: (message) => this.hearFrame(message),
    }, (state, problem) => this.connectionChanged(state, problem));
  }

  reopen() {
    this.resume = this.status === "running";
    this.session = "";
    if (this.follow && this.form.fields.nodes && Number(this.follow) >= Number(this.form.fields.nodes)) this.follow = "";
    this.listen();
  }

  connectionChanged(state, problem) {
    const refused = problem && problem.status >= 400;
    const pill = document.getElementById("connection");
    pill.dataset.state = refused ? "refused" : state;
    pill.textContent = refused ? "check the settings" : { connected: "connected", disconnected: "disconnected, trying again" }[state] ?? state;
    if (refused) alertUser(problem.message);
    if (refused && !this.runs.length) this.runsPlace.replaceChildren(make("p", { class: "empty card", text: "Once the setting is mended, the network appears here." }));
    this.form?.blame(refused ? problem.message : "");
    this.stage.classList.toggle("refused", Boolean(refused));
    if (state === "disconnected" && !refused && this.status === "running") this.resume = true;
    this.lost = state === "disconnected";
    this.freeze();
  }

  // There is nothing to steer while the server is away.
  freeze() {
    for (const button of [this.startButton, this.stepButton, this.resetButton]) button.disabled = this.lost;
  }

  async control(action, value = "") {
    try {
      await this.opening;
      await ask(`/api/sessions/${encodeURIComponent(this.session)}/control`, { json: { action, value } });
    } catch (problem) {
      alertUser(problem.message);
    }
  }

  // What the server says.

  setup({ runs }) {
    this.views?.forEach((view) => view.picture.close());
    this.runsPlace.replaceChildren();
    this.stage.classList.toggle("one", runs.length === 1);
    this.theory = [];
    this.curves = runs.map(() => []);
    this.runs = runs;
    this.frames = [];
    this.views = runs.map((run, number) => this.buildRun(run, number));
    this.drawChart();
    if (this.resume) {
      this.resume = false;
      this.control("start");
    }
  }

  hearTheory({ runs }) {
    this.theory = runs;
    this.frames?.forEach((frame, number) => this.views?.[number]?.readouts.update(frame, this.ratio(number)));
    this.drawChart();
  }

  hearCurves({ runs }) {
    this.curves = runs;
    this.drawChart();
  }

  hearFrame({ status, problem, runs, speed }) {
    this.updates += 1;
    this.status = status;
    this.frames = runs.length ? runs : this.frames;
    if (problem) alertUser(problem);
    if (String(speed) !== this.speed) {
      this.speed = String(speed);
      this.showSpeed();
    }
    const running = status === "running";
    this.startButton.textContent = running ? "Pause" : "Start";
    this.startButton.disabled = this.lost || status === "done" || status === "failed";
    this.stepButton.disabled = this.lost || status === "done" || status === "failed";
    this.statusText.textContent = { ready: "ready", running: "running", paused: "paused", done: "done", failed: "failed" }[status];
    this.statusText.toggleAttribute("data-running", running);
    document.body.dataset.status = status;
    // A node that is pointed at changes with every frame of a run: too much to be read out.
    this.views?.forEach(({ about }) => about.setAttribute("aria-live", running ? "off" : "polite"));
    runs.forEach((frame, number) => this.showFrame(this.views?.[number], frame, number));
    if (runs.length) this.showProgress(runs[0]);
    this.drawChart();
  }

  showFrame(view, frame, number) {
    if (!view) return;
    view.picture.update(frame);
    view.readouts.update(frame, this.ratio(number));
    const [low, middle, high] = view.ticks;
    const reach = frame.reach;
    const around = (sign) => (frame.middle === null ? `${sign < 0 ? "−" : "+"}${spelled(reach)}` : spelled(frame.middle + sign * reach));
    low.textContent = reach === null ? "" : around(-1);
    middle.textContent = frame.middle === null ? "exact" : spelled(frame.middle);
    high.textContent = reach === null ? "" : around(1);
    this.showFollowed(view, frame, number);
    view.canvas.dataset.done = String(frame.done);
    view.hint.hidden = frame.done > 0 || view.run.kind === "learning" || !view.run.follows || this.status !== "ready";
    if (view.pointedAt !== undefined && view.pointedAt !== null) this.describeNode(view, view.pointedAt);
  }

  showFollowed(view, frame, number) {
    const token = frame.token;
    if (!view.run.follows) return;
    view.stop.hidden = token === null;
    view.followed.textContent = token === null
      ? "Click a node to follow the observation it holds."
      : `The observation of node ${token} is at node ${frame.trail.at(-1)}, after ${counted(frame.moves)} moves.${this.wayOf(frame.trail)}`;
    const follow = token === null ? "" : String(token);
    if (number === 0 && follow !== this.follow) {
      this.follow = follow;
      this.writeAddress();
    }
  }

  wayOf(trail) {
    return trail.length < 2 ? "" : ` Its last places: ${trail.slice(-5).join(" → ")}.`;
  }

  showProgress(frame) {
    const checkpoints = this.runs[0].checkpoints;
    this.bar.style.width = `${(100 * frame.done) / checkpoints.at(-1)}%`;
  }

  describeNode(view, node) {
    view.pointedAt = node;
    const frame = this.frames?.[this.views?.indexOf(view)];
    if (node === null || !frame) {
      view.about.textContent = view.run.note ?? "";
      return;
    }
    const level = view.picture.levels[node];
    const off = ((level - 127) / 127) * frame.reach;
    const value = frame.middle === null ? off : frame.middle + off;
    const edge = level === 0 ? "≤ " : level === 254 ? "≥ " : "≈ ";
    const known = level === 255 || frame.reach === null ? "nothing known yet" : `${frame.middle === null ? "error" : view.run.colored} ${edge}${spelled(value, 3)}`;
    view.about.textContent = `Node ${node}: ${known}`;
  }

  ratio(number) {
    const theory = this.theory[number];
    const points = this.curves[number] ?? [];
    if (!theory?.bound || !points.length) return null;
    const measured = points.at(-1)[0];
    const bound = theory.bound[points.length - 1];
    return theory.bound_on === "error" && measured > 0 && bound !== null ? bound / measured : null;
  }

  drawChart() {
    if (!this.runs.length) return;
    const learning = this.runs[0].kind === "learning";
    const two = this.runs.length > 1;
    const lines = [];
    this.runs.forEach((run, k) => {
      const name = two ? ` (${k + 1})` : "";
      const at = run.checkpoints;
      const points = this.curves[k] ?? [];
      const xs = at.slice(0, points.length);
      const now = this.frames?.[k];
      const add = (label, x, y, dash, aside = false) => lines.push({ label: label + name, x, y, dash, aside, color: RUN_COLORS[k] });
      const live = (index, value) => {
        const ahead = now && now.done > (xs.at(-1) ?? 0) && value !== null;
        return [ahead ? [...xs, now.done] : xs, [...points.map((point) => point[index]), ...(ahead ? [value] : [])]];
      };
      if (learning) {
        add("objective of the mean model", ...live(1, now?.objective ?? null), "solid");
        add("mean objective of nodes", xs, points.map((point) => point[0]), "dashed");
      } else {
        add("error", ...live(0, now?.error ?? null), "solid");
        const theory = this.theory[k];
        if (theory?.expected_error) {
          add("exact bias", at, theory.expected_error, "dashed", true);
          add(`bound on the ${theory.bound_on}`, at, theory.bound, "dotted", true);
        }
      }
    });
    const absent = [...new Set(this.theory.map((each) => each.absent).filter(Boolean))].join(" ");
    this.chartTitle.textContent = learning ? "Objective" : "Error";
    this.chartNote.textContent = absent || (this.theory.length ? (learning ? "" : "exact bias: size of the expected estimates' distance from the exact value; one run also has its own randomness on top. The axis fits the measured error; a bound may lie above it.") : learning ? "" : "Computing the exact expectation and the bound…");
    this.chart.show({ lines, xLabel: "iterations (steps)", yLabel: learning ? "objective (mean loss over pairs)" : "error (units of the statistic)", last: this.runs[0].checkpoints.at(-1) });
  }

  // What the viewer does.

  startOrPause() {
    this.control(this.status === "running" ? "pause" : "start");
  }

  forget() {
    this.control("forget");
  }

  changeSeed(seed) {
    this.seed = seed === "" ? "0" : seed;
    this.seedInput.value = this.seed;
    this.reopen();
  }

  // Without the session: whoever opens the link has a run of their own.
  async copyLink() {
    const link = new URL(location.href);
    link.searchParams.delete("session");
    try {
      await navigator.clipboard.writeText(link.href);
      this.copyButton.textContent = "Copied";
      setTimeout(() => { this.copyButton.textContent = "Copy link"; }, 1500);
    } catch {
      alertUser("This browser does not let the page copy: copy the address from the address bar.");
    }
  }

  changeSpeed(speed) {
    this.speed = speed;
    this.showSpeed();
    this.writeAddress();
    this.control("speed", speed);
  }

  showSpeed() {
    const place = SPEEDS.indexOf(this.speed);
    const nearest = SPEEDS.findIndex((each) => each === "max" || Number(each) >= Number(this.speed));
    this.speedInput.value = place >= 0 ? place : nearest;
    this.speedText.textContent = this.speed === "max" ? "as fast as possible" : `${spelled(Number(this.speed))} steps / s`;
    this.speedInput.setAttribute("aria-valuetext", this.speedText.textContent);
  }

  shortcut(event) {
    const tag = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(tag)) return;
    if (event.key === " " && ["BUTTON", "SUMMARY", "A"].includes(tag)) return; // presses what has the focus
    const actions = { " ": () => this.startOrPause(), s: () => this.control("step"), r: () => this.control("reset") };
    if (!(event.key in actions) || this.lost) return;
    event.preventDefault();
    actions[event.key]();
  }

  writeAddress() {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(this.fields())) {
      for (const each of Array.isArray(value) ? value : [value]) search.append(name, each);
    }
    search.set("session", this.session);
    history.replaceState(null, "", `/?${search}`);
  }
}
