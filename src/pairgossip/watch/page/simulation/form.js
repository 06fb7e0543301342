// The settings as a form.

import { ask } from "../common/api.js";
import { alertUser, make, option } from "../common/elements.js";
import { drawData } from "./data-part.js";
import {
  CLOCKS,
  LEVELS,
  makeColumns,
  makeField,
  makeGroup,
  makePart,
  makeSelect,
  namePairs,
  SCHEDULES,
} from "./inputs.js";
import { findNamed, NO_PAIRS, Settings } from "./settings.js";

export class SettingsForm {
  // onChange() is called whenever the fields describe another run.
  constructor(place, choices, onChange) {
    this.place = place;
    this.choices = choices;
    this.onChange = onChange;
    this.settings = new Settings(choices);
  }

  get fields() {
    return this.settings.fields;
  }

  read(search) {
    this.settings.read(search);
    this.draw();
  }

  // Change the settings, then show them and announce the change.
  change(act) {
    act();
    this.draw();
    this.onChange();
  }

  update(name, value) {
    this.change(() => this.settings.update(name, value));
  }

  // Mark the field of the setting that is refused, if there is one.
  blame(name) {
    for (const field of document.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
    }
    const field = name && document.getElementById(name);
    if (!field?.matches("input, select")) return;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", "alert");
    const more = field.closest("details.more");
    if (more) more.open = true;
  }

  async upload(file) {
    if (!file) return;
    const most = this.choices.largest_upload;
    if (file.size > most) {
      alertUser(`${file.name} is too large: at most ${most / 2 ** 20} MiB are accepted.`);
      return;
    }
    try {
      await this.send(file);
    } catch (problem) {
      alertUser(problem.message);
      return;
    }
    this.change(() => this.settings.presetData());
  }

  async send(file) {
    const path = `/api/uploads?name=${encodeURIComponent(file.name)}`;
    this.settings.addUpload(await ask(path, { file }), file);
  }

  // After a restart the server has forgotten the file, but this page still has it.
  async sendAgain() {
    const file = this.settings.takeUpload();
    if (!file) return false;
    await this.send(file);
    this.draw();
    return true;
  }

  // Drawing.

  draw() {
    const focused = document.activeElement?.id;
    const isOpen = this.place.querySelector("details.more")?.open ?? false;
    const { isComparing } = this.settings;
    this.place.replaceChildren(
      drawData(this),
      this.drawStatistic(),
      this.drawRun("", isComparing ? "First run" : "Network and algorithm"),
      this.drawComparison(),
      ...(isComparing ? [this.drawRun("-2", "Second run")] : []),
      this.drawMore(isOpen),
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  select(name, choices, chosen) {
    return makeSelect(name, choices, chosen, (value) => this.update(name, value));
  }

  number(name, bounds) {
    return this.text(name, { type: "number", ...bounds });
  }

  text(name, attributes) {
    return make("input", {
      id: name,
      type: "text",
      value: this.fields[name] ?? "",
      ...attributes,
      onchange: (event) => this.update(name, event.target.value),
    });
  }

  drawStatistic() {
    const { kernel, loss, statistic } = this.settings;
    const options = (kind, all) =>
      all.map(({ name }) => option(`${kind}:${name}`, name, statistic));
    const choose = (value) => this.change(() => this.settings.chooseStatistic(value));
    const select = make(
      "select",
      { id: "statistic", onchange: (event) => choose(event.target.value) },
      makeGroup("estimated: kernels", options("kernel", this.choices.kernels)),
      makeGroup("learned: losses", options("loss", this.choices.losses)),
      makeGroup("no pairs", [option(NO_PAIRS, "mean (classic averaging)", statistic)]),
    );
    const hint = kernel
      ? `${kernel.description}: ${kernel.expression}`
      : (loss?.description ?? "the mean of one column");
    const levels = () => this.select("interval", LEVELS, this.fields.interval ?? "0.95");
    return makePart(
      "What the nodes find out",
      makeField("kernel or loss", select, hint),
      this.drawColumns(),
      this.drawLabel(),
      this.drawPositive(),
      kernel ? this.drawArgument(findNamed(this.choices.arguments.kernel, "target")) : null,
      kernel ? makeField("interval, by the sampling error", levels()) : null,
    );
  }

  drawColumns() {
    const { dataset, needs } = this.settings;
    if (!dataset) return null;
    const chosen = this.fields.column ?? [];
    const isSingle = needs.count === 1;
    const isNumeric = (name) => dataset.numbers?.[name] !== false;
    const names = dataset.columns.filter((name) => isNumeric(name) || chosen.includes(name));
    return makeColumns(names, chosen, isSingle, (next) => this.update("column", next));
  }

  drawLabel() {
    const { dataset, needs } = this.settings;
    if (!dataset || !needs.label) return null;
    // Without a name a column cannot be the label: an empty one says that there is none.
    const columns = dataset.columns.filter((name) => name).map((name) => [name, name]);
    const { label } = this.fields;
    if (!dataset.columns.includes(label)) columns.unshift(["", "choose a column"]);
    const choose = (value) => {
      const others = (this.fields.column ?? []).filter((name) => name !== value);
      this.settings.set("column", others);
      this.settings.set("positive", null);
      this.update("label", value);
    };
    return makeField("label", makeSelect("label", columns, label ?? "", choose));
  }

  // The higher of two numbers is positive; text has no order.
  drawPositive() {
    const { dataset, needs } = this.settings;
    if (!needs.label || dataset?.numbers?.[this.fields.label] !== false) return null;
    const input = make("input", {
      id: "positive",
      type: "text",
      value: this.fields.positive ?? "",
      placeholder: "one of the two labels",
      onchange: (event) => this.update("positive", event.target.value || null),
    });
    return makeField("positive class", input);
  }

  drawRun(suffix, title) {
    const { settings } = this;
    const family = settings.graphOf(suffix);
    const choose = (graph) => this.change(() => settings.chooseGraph(suffix, graph));
    const graphs = namePairs(this.choices.graphs);
    const clocks = settings.clocksOf(suffix).map((clock) => [clock, CLOCKS[clock]]);
    const clock = settings.ofRun("clock", suffix) ?? "sync";
    return makePart(
      title,
      makeField(
        "graph",
        makeSelect(`graph${suffix}`, graphs, family?.name, choose),
        family?.description,
      ),
      this.drawParameters(family, suffix),
      this.drawMethod(suffix),
      makeField("clock", this.select(`clock${suffix}`, clocks, clock)),
      settings.endsAlone(suffix) || !this.fields.loss ? this.drawSchedule(suffix) : null,
    );
  }

  drawSchedule(suffix) {
    const known = this.settings.schedulesOf(suffix).map((name) => [name, SCHEDULES[name]]);
    const chosen = this.settings.ofRun("schedule", suffix) ?? known[0][0];
    return makeField("schedule", this.select(`schedule${suffix}`, known, chosen));
  }

  drawParameters(family, suffix) {
    if (!family?.parameters.length) return null;
    const inputs = family.parameters.map((name) => {
      const step = family.fractions.includes(name) ? "any" : "1";
      const placeholder = String(family.defaults[name] ?? "auto");
      const input = this.number(`graph-${name}${suffix}`, { step, min: 0, placeholder });
      return makeField(name, input);
    });
    return make("div", { class: "pair" }, ...inputs);
  }

  drawMethod(suffix) {
    const { settings } = this;
    if (settings.statistic === NO_PAIRS) {
      return make("p", { class: "hint", text: "algorithm: gossip averaging" });
    }
    const name = settings.methodOf(suffix);
    const select = this.select(`method${suffix}`, namePairs(settings.methods), name);
    return makeField("algorithm", select, settings.describeMethod(suffix)?.description);
  }

  drawComparison() {
    const box = make("input", {
      id: "compare",
      type: "checkbox",
      checked: this.settings.isComparing,
      onchange: (event) => this.change(() => this.settings.compare(event.target.checked)),
    });
    const text = make("span", { text: "Compare with a second run, on the same data" });
    return make("fieldset", {}, make("label", { class: "check" }, box, text));
  }

  drawMore(isOpen) {
    const { settings } = this;
    const isFixed = settings.suffixes.every((suffix) => settings.endsAlone(suffix));
    const details = make(
      "details",
      { class: "more", open: isOpen },
      make("summary", { text: "More" }),
      ...settings.otherArguments.map((argument) => this.drawArgument(argument)),
      this.fields.loss ? this.drawLearning(isFixed) : null,
    );
    return make("fieldset", {}, details);
  }

  // A field for an argument as the server declares it.
  drawArgument({ name, label, choices, default: usual, step, least, placeholder }) {
    const bounds = { step, placeholder, ...(least === null ? {} : { min: least }) };
    if (choices) return makeField(label, this.select(name, choices, this.fields[name] ?? usual));
    return makeField(label, step ? this.number(name, bounds) : this.text(name, { placeholder }));
  }

  drawLearning(isFixed) {
    const input = (name, placeholder) => this.number(name, { step: "any", min: 0, placeholder });
    return make(
      "div",
      { class: "pair" },
      isFixed ? null : makeField("step size c of c/√t", input("step", "adaptive")),
      makeField("radius of models", input("ball", "none")),
    );
  }
}
