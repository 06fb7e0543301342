// The settings of a run, as fields of the address, and the effects of one on the others.

const DEFAULTS = {
  data: "engel",
  column: ["income"],
  kernel: "gini",
  graph: "random-geometric",
  method: "gosta",
  clock: "sync",
  schedule: "random",
  law: "uniform-edges",
  target: "v",
};
const LEARNING = "dual-averaging";
const DESCRIBING = ["data", "kernel", "loss", "graph", "method"];
const NO_SETTINGS = ["session", "seed", "speed", "follow", "view"];
const MOST_PRESET_COLUMNS = 16;
const LONGEST_SHAPE = 1.5;
const FEW_SITES = 10; // too few for some families of graphs
export const NO_PAIRS = "mean"; // the statistic of plain averaging

// The largest number of nodes, at most `most`, that makes no ribbon: 178 would be 2 by 89.
function largestRectangle(most) {
  for (let nodes = most; nodes > 9; nodes -= 1) {
    let side = Math.floor(Math.sqrt(nodes));
    while (nodes % side) side -= 1;
    if (nodes / side <= LONGEST_SHAPE * side) return nodes;
  }
  return most;
}

export class Settings {
  // choices: those that the server offers.
  constructor(choices) {
    this.choices = choices;
    this.uploads = new Map();
    for (const file of choices.files) this.keepTable(file, "read where the page was started");
    this.fields = { ...DEFAULTS };
  }

  // From the address, or as on a first visit where it says nothing.
  read(search) {
    if (!DESCRIBING.some((name) => search.has(name))) return;
    const names = [...search.keys()].filter((name) => !NO_SETTINGS.includes(name));
    this.fields = Object.fromEntries(
      names.map((name) => [name, name === "column" ? search.getAll(name) : search.get(name)]),
    );
    if (!this.fields.column && this.uploads.has(this.fields.data)) this.presetColumns();
  }

  get isComparing() {
    return Object.keys(this.fields).some((name) => name.endsWith("-2"));
  }

  // What the names of the fields of every run end in.
  get suffixes() {
    return this.isComparing ? ["", "-2"] : [""];
  }

  get dataset() {
    const { data } = this.fields;
    return this.uploads.get(data) ?? findNamed(this.choices.data, data ?? DEFAULTS.data);
  }

  get statistic() {
    if (this.fields.loss) return `loss:${this.fields.loss}`;
    return this.isAveraging(this.fields.method) ? NO_PAIRS : `kernel:${this.fields.kernel ?? ""}`;
  }

  get kernel() {
    return this.statistic.startsWith("kernel:")
      ? findNamed(this.choices.kernels, this.fields.kernel)
      : undefined;
  }

  get loss() {
    return findNamed(this.choices.losses, this.fields.loss);
  }

  // The columns of the statistic: their number besides the label (null for any), and whether it
  // has one.
  get needs() {
    if (this.fields.loss) return { count: null, label: true };
    if (this.statistic === NO_PAIRS) return { count: 1, label: false };
    const names = this.kernel?.columns ?? null;
    if (names === null) return { count: null, label: false };
    const label = ["label", "cluster"].includes(names.at(-1));
    const rest = names.filter((name) => !name.endsWith("?")).length - (label ? 1 : 0);
    return { count: names.some((name) => name.endsWith("...")) ? null : rest, label };
  }

  // A field of one of two runs, else that of both.
  ofRun(name, suffix) {
    return this.fields[name + suffix] ?? this.fields[name];
  }

  // The methods for the present question.
  get methods() {
    if (!this.fields.loss) return this.choices.methods.filter((method) => method.pairs);
    return this.choices.learning.filter(({ name }) => name !== "sketch" || this.canSketch);
  }

  methodOf(suffix) {
    return this.ofRun("method", suffix) ?? (this.fields.loss ? LEARNING : DEFAULTS.method);
  }

  describeMethod(suffix) {
    const all = this.fields.loss ? this.choices.learning : this.choices.methods;
    return findNamed(all, this.methodOf(suffix));
  }

  clocksOf(suffix) {
    return this.describeMethod(suffix)?.clocks ?? ["sync", "async"];
  }

  // Whether a run ends at the best model by itself, however long it takes.
  endsAlone(suffix) {
    return Boolean(this.fields.loss) && this.methodOf(suffix) === "sketch";
  }

  // The arguments with a field among the other settings: those that some run has a use for.
  get otherArguments() {
    const all = this.choices.arguments[this.fields.loss ? "loss" : "kernel"];
    const isUsed = ({ name, method }, suffix) =>
      method ? this.methodOf(suffix) === method : name !== "iterations" || !this.endsAlone(suffix);
    return all.filter(
      (argument) =>
        argument.name !== "target" && this.suffixes.some((suffix) => isUsed(argument, suffix)),
    );
  }

  // Single rows of sites meet at random; whole sites can follow any order.
  schedulesOf(suffix) {
    const method = this.describeMethod(suffix);
    const isFree = !this.fields["group-by"] || method?.whole_sites;
    return (isFree && method?.schedules) || ["random"];
  }

  graphOf(suffix) {
    return findNamed(this.choices.graphs, this.ofRun("graph", suffix) ?? "complete");
  }

  // Whether a method averages one value per node instead of pairs.
  isAveraging(method) {
    return findNamed(this.choices.methods, method)?.pairs === false;
  }

  set(name, value) {
    if (value === "" || value === null || value === undefined) delete this.fields[name];
    else this.fields[name] = value;
  }

  update(name, value) {
    this.set(name, value);
    if (name === "data") this.presetData();
    if (name === "group-by") this.chooseSites(value);
    if (name.startsWith("method") && this.fields.loss) {
      const suffix = name.slice("method".length);
      this.set(`schedule${suffix}`, this.schedulesOf(suffix)[0]);
    }
    this.fixRuns();
  }

  // The column of the sites is no number to compute with.
  chooseSites(name) {
    const others = (this.fields.column ?? []).filter((each) => each !== name);
    if (others.length) this.set("column", others);
    else this.presetColumns();
    const isFew = (this.dataset?.sites?.[name] ?? Infinity) < FEW_SITES;
    for (const suffix of this.suffixes) {
      if (isFew && !this.graphOf(suffix)?.suits_few) this.chooseGraph(suffix, "complete");
    }
    this.presetNodes();
  }

  // A method that knows one clock only decides it, and one that cannot follow a schedule leaves it.
  fixRuns() {
    for (const suffix of this.suffixes) {
      const clocks = this.clocksOf(suffix);
      const clock = this.ofRun("clock", suffix) ?? DEFAULTS.clock;
      if (!clocks.includes(clock)) this.set(`clock${suffix}`, clocks[0]);
      const schedule = this.ofRun("schedule", suffix) ?? DEFAULTS.schedule;
      const schedules = this.schedulesOf(suffix);
      if (!schedules.includes(schedule)) this.set(`schedule${suffix}`, schedules[0]);
    }
    if (this.suffixes.every((suffix) => this.endsAlone(suffix))) {
      for (const name of ["iterations", "step"]) this.set(name, null);
    }
  }

  chooseStatistic(value) {
    const [kind, name] = value.split(":");
    this.set("loss", kind === "loss" ? name : null);
    this.set("kernel", kind === "kernel" ? name : null);
    const isKnown = (name) => !name || this.methods.some((method) => method.name === name);
    for (const suffix of this.suffixes) {
      const field = `method${suffix}`;
      if (kind === NO_PAIRS) this.set(field, "averaging");
      else if (kind === "loss") this.set(field, null);
      else if (!isKnown(this.fields[field])) this.set(field, DEFAULTS.method);
    }
    if (kind !== "kernel") for (const field of ["target", "interval"]) this.set(field, null);
    if (kind !== "loss") for (const field of ["step", "ball"]) this.set(field, null);
    this.presetColumns();
    this.fixRuns();
  }

  chooseGraph(suffix, graph) {
    const parameters = this.choices.graphs.flatMap((family) => family.parameters);
    for (const name of parameters) this.set(`graph-${name}${suffix}`, null);
    this.set(`graph${suffix}`, graph);
    this.presetNodes();
    this.fixRuns();
  }

  compare(isComparing) {
    for (const name of Object.keys(this.fields)) if (name.endsWith("-2")) this.set(name, null);
    if (isComparing) {
      this.set("graph-2", this.fields.graph === "complete" ? "cycle" : "complete");
      this.set("clock-2", this.fields.clock ?? DEFAULTS.clock);
      this.set("method-2", this.methodOf(""));
      this.set("schedule-2", this.fields.schedule ?? this.schedulesOf("")[0]);
    }
    this.presetNodes();
    this.fixRuns();
  }

  // A second run that differs in these respects alone.
  compareWith(differences) {
    this.compare(false);
    for (const [name, value] of Object.entries(differences)) this.set(`${name}-2`, value);
    this.presetNodes();
    this.fixRuns();
  }

  // Whether sums over the rows can give the statistic.
  get canSketch() {
    return Boolean(this.kernel?.sketches || this.loss?.sketches);
  }

  presetData() {
    this.set("nodes", null);
    this.set("group-by", null);
    this.presetColumns();
    this.presetNodes();
  }

  presetColumns() {
    const set = this.dataset;
    if (!set) return;
    const { count, label } = this.needs;
    this.set("label", label ? set.label : null);
    this.set("positive", null);
    const taken = [this.fields.label, this.fields["group-by"]];
    const isNumeric = (name) => !taken.includes(name) && set.numbers?.[name] !== false;
    const numeric = set.columns.filter(isNumeric);
    const others = numeric.filter((name) => (label || name !== set.label) && name !== set.site);
    this.set("column", (others.length ? others : numeric).slice(0, count ?? MOST_PRESET_COLUMNS));
  }

  // A few rows less where a grid of all of them would be too thin to look at.
  presetNodes() {
    if (this.fields.nodes === this.presetCount) this.set("nodes", null);
    const isGiven = (name) => this.suffixes.some((suffix) => this.fields[name + suffix]);
    const families = this.suffixes.map((suffix) => this.graphOf(suffix));
    const rectangle = families.find((family) => family?.takes_n === false);
    const sides = rectangle?.parameters.map((name) => `graph-${name}`) ?? [];
    const isShaped = ["nodes", ...sides].some(isGiven);
    if (isShaped || !rectangle || !this.dataset || this.fields["group-by"]) return;
    const most = Math.min(this.dataset.rows, this.choices.most_nodes);
    this.presetCount = String(largestRectangle(most));
    if (largestRectangle(most) !== most) this.set("nodes", this.presetCount);
  }

  // A file as the server has read it; the page keeps it, to send it again after a restart.
  addUpload(found, file) {
    this.keepTable(found, "uploaded", file);
    this.fields.data = found.id;
  }

  keepTable(found, origin, file) {
    const columns = found.columns.map((column) => column.name);
    const numbers = Object.fromEntries(found.columns.map(({ name, numbers }) => [name, numbers]));
    const description = `${found.rows.toLocaleString("en-US")} rows, ${origin}.`;
    this.uploads.set(found.id, { ...found, columns, numbers, description, file });
  }

  // Forget the file of these settings and return it, if it was sent from this page.
  takeUpload() {
    const { data } = this.fields;
    const file = this.uploads.get(data)?.file;
    if (file) this.uploads.delete(data);
    return file;
  }
}

export function findNamed(all, name) {
  return all.find((each) => each.name === name);
}
