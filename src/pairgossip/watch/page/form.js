// The settings as a form. The fields of the form are the fields of the address.

import { ask } from "./api.js";
import { alertUser, make, option } from "./elements.js";

const OPTIONAL_NUMBERS = { k: "1", p: "any", rows: "1", cols: "1", degree: "1", m: "1", radius: "any" };
const MOST_PRESET_COLUMNS = 16;
const DEFAULTS = {
  data: "engel", column: ["income"], kernel: "gini", graph: "random-geometric", method: "gosta",
  clock: "sync", law: "uniform-edges", target: "v",
};
const NO_PAIRS = "mean";
const RECTANGLES = ["grid", "torus"];
const LONGEST_SHAPE = 1.5;

// The most nodes, up to so many, that make a rectangle which is not a ribbon: 178 would be 2 by 89.
function rectangular(most) {
  for (let nodes = most; nodes > 9; nodes -= 1) {
    let side = Math.floor(Math.sqrt(nodes));
    while (nodes % side) side -= 1;
    if (nodes / side <= LONGEST_SHAPE * side) return nodes;
  }
  return most;
}

export class SettingsForm {
  // changed() is called whenever the fields describe another run.
  constructor(place, choices, changed) {
    this.place = place;
    this.choices = choices;
    this.changed = changed;
    this.uploads = new Map();
    this.fields = { ...DEFAULTS };
  }

  // From the address, or as on a first visit where it says nothing.
  read(search) {
    const given = [...search.keys()];
    if (!["data", "kernel", "loss", "graph", "method"].some((name) => given.includes(name))) return;
    this.fields = {};
    for (const name of given) {
      if (!["session", "seed", "speed", "follow", "view"].includes(name)) {
        this.fields[name] = name === "column" ? search.getAll(name) : search.get(name);
      }
    }
  }

  get comparing() {
    return Object.keys(this.fields).some((name) => name.endsWith("-2"));
  }

  get statistic() {
    if (this.fields.loss) return `loss:${this.fields.loss}`;
    return this.averages(this.fields.method) ? NO_PAIRS : `kernel:${this.fields.kernel ?? ""}`;
  }

  // Whether a method averages one value per node instead of pairs.
  averages(method) {
    return this.choices.methods.find((each) => each.name === method)?.pairs === false;
  }

  get dataset() {
    const { data } = this.fields;
    return this.uploads.get(data) ?? this.choices.data.find((set) => set.name === (data ?? "engel"));
  }

  // Which columns the statistic takes: how many besides the label (null for any), and whether it has one.
  get needs() {
    if (this.fields.loss) return { count: null, label: true };
    if (this.statistic === NO_PAIRS) return { count: 1, label: false };
    const kernel = this.choices.kernels.find((each) => each.name === this.fields.kernel);
    const names = kernel?.columns ?? null;
    if (names === null) return { count: null, label: false };
    const label = ["label", "cluster"].includes(names.at(-1));
    const rest = names.filter((name) => !name.endsWith("?")).length - (label ? 1 : 0);
    return { count: names.some((name) => name.endsWith("...")) ? null : rest, label };
  }

  set(name, value) {
    if (value === "" || value === null || value === undefined) delete this.fields[name];
    else this.fields[name] = value;
  }

  update(name, value) {
    this.set(name, value);
    if (name === "data") {
      this.set("nodes", null);
      this.presetColumns();
      this.presetNodes();
    }
    this.settleClock("");
    if (this.comparing) this.settleClock("-2");
    this.draw();
    this.changed();
  }

  // A method that knows one clock only decides it.
  settleClock(suffix) {
    if (this.fields.loss) return;
    const name = this.fields[`method${suffix}`] ?? this.fields.method ?? "gosta";
    const method = this.choices.methods.find((each) => each.name === name);
    const clock = this.fields[`clock${suffix}`] ?? this.fields.clock ?? "sync";
    if (method && !method.clocks.includes(clock)) this.set(`clock${suffix}`, method.clocks[0]);
  }

  chooseStatistic(value) {
    const [kind, name] = value.split(":");
    this.set("loss", kind === "loss" ? name : null);
    this.set("kernel", kind === "kernel" ? name : null);
    const averages = value === NO_PAIRS;
    for (const suffix of this.comparing ? ["", "-2"] : [""]) {
      if (averages) this.set(`method${suffix}`, "averaging");
      else if (kind === "loss" || this.averages(this.fields[`method${suffix}`])) this.set(`method${suffix}`, kind === "loss" ? null : "gosta");
    }
    if (kind !== "kernel") this.set("target", null);
    if (kind !== "loss") ["step", "ball"].forEach((field) => this.set(field, null));
    this.presetColumns();
    this.settleClock("");
    this.draw();
    this.changed();
  }

  presetColumns() {
    const set = this.dataset;
    if (!set) return;
    const { count, label } = this.needs;
    this.set("label", label ? set.label : null);
    const numbers = set.columns.filter((name) => name !== this.fields.label && set.numbers?.[name] !== false);
    const others = label || set.label === null ? numbers : numbers.filter((name) => name !== set.label);
    this.set("column", (others.length ? others : numbers).slice(0, count ?? MOST_PRESET_COLUMNS));
  }

  // A few rows less where a grid of all of them would be too thin to look at.
  presetNodes() {
    if (this.fields.nodes === this.presetCount) this.set("nodes", null);
    const graphs = [this.fields.graph, this.fields["graph-2"]];
    const isShaped = ["rows", "cols"].some((side) => this.fields[`graph-${side}`] || this.fields[`graph-${side}-2`]);
    if (this.fields.nodes || isShaped || !this.dataset || !graphs.some((graph) => RECTANGLES.includes(graph))) return;
    const most = Math.min(this.dataset.rows, this.choices.most_nodes);
    this.presetCount = String(rectangular(most));
    if (rectangular(most) !== most) this.set("nodes", this.presetCount);
  }

  // Mark the field that a refusal names.
  blame(sentence) {
    const name = /^The setting '([\w-]+)'/.exec(sentence)?.[1];
    for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    const field = name && document.getElementById(name);
    if (!field) return;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", "alert");
    const more = field.closest("details.more");
    if (more) more.open = true;
  }

  compare(both) {
    for (const name of Object.keys(this.fields)) if (name.endsWith("-2")) delete this.fields[name];
    if (both) {
      this.fields["graph-2"] = this.fields.graph === "complete" ? "cycle" : "complete";
      if (!this.fields.loss) this.fields["method-2"] = this.fields.method ?? "gosta";
      this.fields["clock-2"] = this.fields.clock ?? "sync";
    }
    this.presetNodes();
    this.draw();
    this.changed();
  }

  async upload(file) {
    if (!file) return;
    if (file.size > this.choices.largest_upload) {
      alertUser(`${file.name} is too large: at most ${this.choices.largest_upload / 2 ** 20} MiB are taken.`);
      return;
    }
    try {
      await this.send(file);
    } catch (problem) {
      alertUser(problem.message);
      return;
    }
    this.presetColumns();
    this.set("nodes", null);
    this.presetNodes();
    this.draw();
    this.changed();
  }

  async send(file) {
    const found = await ask(`/api/uploads?name=${encodeURIComponent(file.name)}`, { csv: await file.text() });
    const columns = found.columns.map((column) => column.name);
    const numbers = Object.fromEntries(found.columns.map((column) => [column.name, column.numbers]));
    this.uploads.set(found.id, { ...found, columns, numbers, description: `${found.rows} rows, uploaded.`, file });
    this.fields.data = found.id;
  }

  // After a restart the server has forgotten the file, but this page still has it.
  async sendAgain() {
    const known = this.uploads.get(this.fields.data);
    if (!known) return false;
    this.uploads.delete(this.fields.data);
    await this.send(known.file);
    this.draw();
    return true;
  }

  // Drawing.

  draw() {
    const focused = document.activeElement?.id;
    const open = this.place.querySelector("details.more")?.open ?? false;
    this.place.replaceChildren(
      this.dataPart(), this.statisticPart(), this.runPart("", this.comparing ? "First run" : "Network and algorithm"),
      this.comparePart(), ...(this.comparing ? [this.runPart("-2", "Second run")] : []), this.morePart(open),
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  field(label, control, hint) {
    return make("label", { class: "field" }, make("span", { text: label }), control, hint ? make("span", { class: "hint", text: hint }) : null);
  }

  select(id, choices, chosen, changed) {
    return make("select", { id, onchange: (event) => changed(event.target.value) }, ...choices.map(([value, text]) => option(value, text, chosen)));
  }

  number(id, name, settings = {}) {
    return make("input", {
      id, type: "number", value: this.fields[name] ?? "", ...settings,
      onchange: (event) => this.update(name, event.target.value),
    });
  }

  dataPart() {
    const { data } = this.fields;
    const sets = [...this.choices.data.map((set) => [set.name, set.name]), ...[...this.uploads].map(([id, set]) => [id, set.name])];
    if (data && !sets.some(([id]) => id === data)) sets.push([data, data.startsWith("upload-") ? "an uploaded file" : data]);
    return make("fieldset", {}, make("legend", { text: "Data" }),
      this.field("data set", this.select("data", sets, data ?? "engel", (value) => this.update("data", value)), this.dataset?.description),
      this.field("or a CSV file of yours", make("input", { id: "file", type: "file", accept: ".csv,text/csv,.txt,.tsv", onchange: (event) => this.upload(event.target.files[0]) })),
      this.field("nodes, one per row", this.number("nodes", "nodes", { min: 2, max: this.choices.most_nodes, step: 1, placeholder: this.dataset ? `all ${this.dataset.rows}` : "all rows" }),
        Number(this.fields.nodes) > 1 && this.dataset && Number(this.fields.nodes) < this.dataset.rows ? `${this.fields.nodes} of ${this.dataset.rows} rows, evenly spaced` : null));
  }

  statisticPart() {
    const kernels = this.choices.kernels.map((kernel) => option(`kernel:${kernel.name}`, kernel.name, this.statistic));
    const losses = this.choices.losses.map((loss) => option(`loss:${loss.name}`, loss.name, this.statistic));
    const group = (label, options) => {
      const element = make("optgroup", {}, ...options);
      element.label = label;
      return element;
    };
    const select = make("select", { id: "statistic", onchange: (event) => this.chooseStatistic(event.target.value) },
      group("estimated: kernels", kernels), group("learned: losses", losses), group("no pairs", [option(NO_PAIRS, "mean (classic averaging)", this.statistic)]));
    const kernel = this.choices.kernels.find((each) => `kernel:${each.name}` === this.statistic);
    const loss = this.choices.losses.find((each) => `loss:${each.name}` === this.statistic);
    const hint = kernel ? `${kernel.description}: ${kernel.expression}` : loss?.description ?? "the mean of one column";
    return make("fieldset", {}, make("legend", { text: "What the nodes find out" }),
      this.field("kernel or loss", select, hint), this.columnsPart(), this.labelPart(),
      kernel ? this.field("pairs", this.select("target", [["v", "all pairs (V-statistic)"], ["u", "different rows (U-statistic)"]], this.fields.target ?? "v", (value) => this.update("target", value))) : null);
  }

  columnsPart() {
    const set = this.dataset;
    if (!set) return null;
    const chosen = this.fields.column ?? [];
    const single = this.needs.count === 1;
    const boxes = set.columns.map((name, k) => {
      const box = make("input", { type: "checkbox", id: `column-${k}`, checked: chosen.includes(name) });
      box.addEventListener("change", () => {
        const others = single ? [] : (this.fields.column ?? []).filter((each) => each !== name);
        const next = set.columns.filter((each) => others.includes(each) || (each === name && box.checked));
        this.update("column", next.length ? next : [name]);
      });
      return make("label", {}, box, make("span", { text: name || "(unnamed)" }));
    });
    return make("div", { class: "field", role: "group", "aria-label": "columns" }, make("span", { text: single ? "column" : "columns" }), make("div", { class: "columns" }, ...boxes));
  }

  labelPart() {
    const set = this.dataset;
    if (!set || !this.needs.label) return null;
    // Without a name a column cannot be the label: an empty one says that there is none.
    const columns = set.columns.filter((name) => name).map((name) => [name, name]);
    if (!set.columns.includes(this.fields.label)) columns.unshift(["", "choose a column"]);
    return this.field("label", this.select("label", columns, this.fields.label ?? "", (value) => {
      this.set("column", (this.fields.column ?? []).filter((name) => name !== value));
      this.update("label", value);
    }));
  }

  runPart(suffix, title) {
    const value = (name) => this.fields[name + suffix] ?? this.fields[name];
    const family = this.choices.graphs.find((each) => each.name === (value("graph") ?? "complete"));
    const parameters = (family?.parameters ?? []).map((name) => {
      const field = `graph-${name}${suffix}`;
      return this.field(name, this.number(field, field, { step: OPTIONAL_NUMBERS[name], min: 0, placeholder: String(family.defaults[name] ?? "auto") }));
    });
    const pairs = this.choices.methods.filter((method) => method.pairs);
    const method = value("method") ?? "gosta";
    const clocks = this.fields.loss ? ["sync", "async"] : this.choices.methods.find((each) => each.name === method)?.clocks ?? ["sync", "async"];
    const algorithm = this.fields.loss || this.statistic === NO_PAIRS
      ? make("p", { class: "hint", text: this.fields.loss ? "algorithm: gossip dual averaging" : "algorithm: gossip averaging" })
      : this.field("algorithm", this.select(`method${suffix}`, pairs.map((each) => [each.name, each.name]), method, (next) => this.update(`method${suffix}`, next)), pairs.find((each) => each.name === method)?.description);
    return make("fieldset", {}, make("legend", { text: title }),
      this.field("graph", this.select(`graph${suffix}`, this.choices.graphs.map((each) => [each.name, each.name]), family?.name, (next) => this.chooseGraph(suffix, next)), family?.description),
      parameters.length ? make("div", { class: "pair" }, ...parameters) : null, algorithm,
      this.field("clock", this.select(`clock${suffix}`, clocks.map((each) => [each, each === "sync" ? "synchronous: all update" : "asynchronous: two update"]), value("clock") ?? "sync", (next) => this.update(`clock${suffix}`, next))));
  }

  chooseGraph(suffix, graph) {
    for (const name of Object.keys(OPTIONAL_NUMBERS)) delete this.fields[`graph-${name}${suffix}`];
    this.set(`graph${suffix}`, graph);
    this.presetNodes();
    this.update(`graph${suffix}`, graph);
  }

  comparePart() {
    const box = make("input", { id: "compare", type: "checkbox", checked: this.comparing, onchange: (event) => this.compare(event.target.checked) });
    return make("fieldset", {}, make("label", { class: "check" }, box, make("span", { text: "Compare with a second run, on the same data" })));
  }

  morePart(open) {
    const law = this.select("law", [["uniform-edges", "every edge equally often"], ["node-clocks", "a node calls a neighbor"]], this.fields.law ?? "uniform-edges", (value) => this.update("law", value));
    const learning = this.fields.loss ? make("div", { class: "pair" },
      this.field("step size c of c/√t", this.number("step", "step", { step: "any", min: 0, placeholder: "auto" })),
      this.field("radius of models", this.number("ball", "ball", { step: "any", min: 0, placeholder: "none" }))) : null;
    return make("fieldset", {}, make("details", { class: "more", open }, make("summary", { text: "More" }),
      this.field("which exchange comes next", law),
      this.field("iterations", this.number("iterations", "iterations", { min: 1, step: 1, placeholder: "200 per node" })), learning));
  }
}
