// The controls of a run: start, step, reset, seed, speed, and its progress.

import { make } from "../common/elements.js";
import { formatNumber } from "../common/numbers.js";

const SPEEDS =
  "1 2 5 10 20 50 100 200 500 1000 2000 5000 10000 20000 50000 100000 1000000 max".split(" ");
const COMPILING = "compiling, once: some seconds";
const COPY_TIP = "all settings are in it: whoever opens it watches the same run";

export class Controls {
  // onControl(action) is asked of the run; the others are onSeed(seed), onSpeed(speed) and
  // onCopy(button).
  constructor({ onControl, onSeed, onSpeed, onCopy }) {
    Object.assign(this, { onControl, onSeed, onSpeed });
    this.status = "ready";
    this.isCompiling = false;
    this.isLost = true; // until the server has answered
    this.start = this.button("start", "Start", () => this.startOrPause(), { class: "primary" });
    this.step = this.button("step-one", "Step", () => onControl("step"), {
      title: "one step: the next exchange",
    });
    this.reset = this.button("reset", "Reset", () => onControl("reset"));
    this.copy = this.button("copy-link", "Copy link", () => onCopy(this.copy), { title: COPY_TIP });
    this.speedText = make("output", { for: "speed" });
    this.bar = make("div");
    this.statusText = make("span", { class: "pill", role: "status", id: "run-status" });
    this.element = make(
      "div",
      { class: "toolbar card", role: "group", "aria-label": "Controls" },
      this.start,
      this.step,
      this.reset,
      this.makeSeed(),
      this.copy,
      this.makeSpeed(),
      make(
        "div",
        { class: "course" },
        this.statusText,
        make("div", { class: "progress", "aria-hidden": "true" }, this.bar),
      ),
    );
    this.showStatus("ready");
  }

  button(id, text, onclick, more = {}) {
    return make("button", { id, type: "button", text, onclick, ...more });
  }

  makeSeed() {
    const change = (seed) => this.onSeed(seed === "" ? "0" : seed);
    this.seedInput = make("input", {
      id: "seed",
      type: "number",
      min: 0,
      step: 1,
      onchange: () => change(this.seedInput.value),
    });
    const next = this.button("new-seed", "next", () => change(String(Number(this.seed) + 1)), {
      "aria-label": "next seed",
      title: "the next seed: another random run",
    });
    const label = make("label", { class: "seed" }, make("span", { text: "seed" }), this.seedInput);
    return make("div", { class: "seeding" }, label, next);
  }

  makeSpeed() {
    this.speedInput = make("input", {
      id: "speed",
      type: "range",
      min: 0,
      max: SPEEDS.length - 1,
      step: 1,
      oninput: () => this.onSpeed(SPEEDS[this.speedInput.value]),
    });
    const name = make("span", { text: "speed" });
    return make("label", { class: "speed" }, name, this.speedInput, this.speedText);
  }

  showSeed(seed) {
    this.seed = seed;
    this.seedInput.value = seed;
  }

  showSpeed(speed) {
    const isReached = (each) => each === "max" || Number(each) >= Number(speed);
    const place = SPEEDS.indexOf(speed);
    this.speedInput.value = place >= 0 ? place : SPEEDS.findIndex(isReached);
    this.speedText.textContent =
      speed === "max" ? "as fast as possible" : `${formatNumber(Number(speed))} steps / s`;
    this.speedInput.setAttribute("aria-valuetext", this.speedText.textContent);
  }

  showStatus(status) {
    this.status = status;
    this.start.textContent = this.isRunning ? "Pause" : "Start";
    this.statusText.textContent = this.isCompiling ? COMPILING : status;
    this.statusText.toggleAttribute("data-running", this.isRunning && !this.isCompiling);
    this.enable();
  }

  // The first run of a kind has to be compiled, and nothing moves meanwhile.
  showCompiling(isCompiling) {
    this.isCompiling = isCompiling;
    this.showStatus(this.status);
  }

  showProgress(share) {
    this.bar.style.width = `${100 * share}%`;
  }

  get isRunning() {
    return this.status === "running";
  }

  // There is nothing to steer while the server is away.
  setLost(isLost) {
    this.isLost = isLost;
    this.enable();
  }

  enable() {
    const isOver = ["done", "failed"].includes(this.status);
    this.start.disabled = this.isLost || isOver;
    this.step.disabled = this.isLost || isOver;
    this.reset.disabled = this.isLost || this.status === "failed";
  }

  startOrPause() {
    this.onControl(this.isRunning ? "pause" : "start");
  }

  pressKey(event) {
    const tag = event.target.tagName;
    const isTyped = ["INPUT", "SELECT", "TEXTAREA"].includes(tag);
    if (this.isLost || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    // The space bar presses what has the focus.
    if (event.key === " " && ["BUTTON", "SUMMARY", "A"].includes(tag)) return;
    const actions = {
      " ": () => this.startOrPause(),
      s: () => this.onControl("step"),
      r: () => this.onControl("reset"),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }
}
