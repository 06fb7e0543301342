// One run: its picture, what the colors mean, which observation is followed, and its numbers.

import { paintBar, TOP, UNKNOWN } from "../common/colors.js";
import { make } from "../common/elements.js";
import { NetworkPicture } from "../common/network.js";
import { formatCount, formatNumber } from "../common/numbers.js";
import { Readouts } from "./readouts.js";
import { RocPicture } from "./roc.js";

const MIDDLE = TOP / 2;
const LAST_PLACES = 5;

function aboutSites(rows) {
  const all = rows.reduce((sum, count) => sum + count, 0);
  const [least, most] = [Math.min(...rows), Math.max(...rows)].map(formatCount);
  const each = least === most ? least : `${least} to ${most}`;
  return `${formatCount(rows.length)} sites with ${formatCount(all)} rows, ${each} each`;
}

function aboutNetwork(run) {
  const format = (value) => (typeof value === "number" ? formatNumber(value) : value);
  const nodes = run.sites ? aboutSites(run.sites.rows) : `${formatCount(run.nodes)} nodes`;
  const facts = [nodes, `${formatCount(run.edge_count)} edges`];
  for (const [name, value] of Object.entries(run.parameters)) {
    facts.push(`${name} = ${format(value)}`);
  }
  return facts.join(", ");
}

function aboutTrail({ sites }, { token, trail, moves }) {
  if (token === null) return clickHint(sites);
  const name = (place) => (sites ? sites.names[place] : place);
  const last = trail.slice(-LAST_PLACES).map(name).join(" → ");
  const places = trail.length < 2 ? "" : ` Its last places: ${last}.`;
  const [what, kind] = sites ? ["Row", "site"] : ["The observation of node", "node"];
  const where = `${what} ${token} is at ${kind} ${name(trail.at(-1))}`;
  return `${where}, after ${formatCount(moves)} moves.${places}`;
}

function clickHint(sites) {
  return sites
    ? "Click a site to follow a row that it holds now."
    : "Click a node to follow the observation it holds.";
}

function beforeTheStart({ sites, nodes }) {
  const count = formatCount(nodes);
  const holders = sites
    ? `Each of the ${count} sites holds its own rows, the more the larger it is drawn,`
    : `Each of the ${count} nodes holds one row of the data`;
  return `${holders} and knows nothing else yet. Press Start, and watch them find out.`;
}

export class RunCard {
  // onFollow(node), onForget(): which observation the viewer wants to follow.
  constructor(run, number, { onFollow, onForget }) {
    this.run = run;
    this.pointedAt = null;
    this.canvas = make("canvas", {
      tabIndex: 0,
      role: "application",
      "data-run": String(number),
      "aria-label":
        `Network of ${run.nodes} ${run.sites ? "sites" : "nodes"}. Arrow keys choose one, Enter ` +
        "follows its observation, Escape stops following.",
    });
    this.numbers = make("dl", { class: "readouts" });
    this.roc = run.roc ? new RocPicture(run.roc) : null;
    this.element = make(
      "article",
      { class: "run card" },
      this.makeTitle(number),
      make("div", { class: "picture" }, this.canvas),
      make("div", { class: "facts" }, this.makeBar(), this.makeTexts(onForget)),
      this.roc?.element,
    );
    this.readouts = new Readouts(this.numbers, run);
    this.picture = new NetworkPicture(this.canvas, {
      onChoose: (node) => run.follows && onFollow(node),
      onPoint: (node) => this.point(node),
      onForget,
    });
  }

  makeTitle(number) {
    return make(
      "div",
      { class: "title" },
      make("span", { class: "swatch", "aria-hidden": "true", text: String(number + 1) }),
      make("h2", { text: this.run.title }),
      make("span", { class: "sub", text: aboutNetwork(this.run) }),
    );
  }

  makeBar() {
    const { colored, middle } = this.run;
    const colors = make("canvas", { "aria-hidden": "true" });
    paintBar(colors);
    this.ticks = [make("span"), make("span"), make("span")];
    const between = `blue below, orange above the ${middle.replace(/^the /, "")}`;
    return make(
      "div",
      { class: "bar" },
      colors,
      make("div", { class: "ticks" }, ...this.ticks),
      make("p", { text: `${colored}: ${between}; gray: not known yet` }),
    );
  }

  makeTexts(onForget) {
    const { run } = this;
    this.hint = make("p", {
      class: "first",
      hidden: true,
      text: beforeTheStart(run),
    });
    this.trail = make("span", {
      text: run.follows
        ? clickHint(run.sites)
        : "No single observation travels here that could be followed.",
    });
    this.stop = make("button", {
      type: "button",
      text: "stop following",
      hidden: true,
      onclick: onForget,
    });
    this.about = make("p", { class: "about", "aria-live": "polite", text: run.note ?? "" });
    const follow = make("div", { class: "follow" }, this.trail, this.stop);
    return make("div", { class: "said" }, this.hint, follow, this.about);
  }

  // Once it is in the page, where it has a size.
  draw() {
    this.picture.setup(this.run);
  }

  close() {
    this.picture.close();
  }

  update(frame, status, ratio) {
    this.frame = frame;
    this.picture.update(frame);
    this.roc?.update(frame.roc);
    this.showRatio(ratio);
    this.showTicks(frame);
    if (this.run.follows) {
      this.stop.hidden = frame.token === null;
      this.trail.textContent = aboutTrail(this.run, frame);
    }
    this.canvas.dataset.done = String(frame.done);
    const isUntouched = frame.done === 0 && status === "ready";
    this.hint.hidden = !isUntouched || this.run.kind === "learning" || !this.run.follows;
    if (this.pointedAt !== null) this.point(this.pointedAt);
  }

  showRatio(ratio) {
    if (this.frame) this.readouts.update(this.frame, ratio);
  }

  // A node that is pointed at changes with every frame of a run: too much to be read out.
  setQuiet(isQuiet) {
    this.about.setAttribute("aria-live", isQuiet ? "off" : "polite");
  }

  showTicks({ middle, reach }) {
    const around = (sign) => {
      if (reach === null) return "";
      if (middle === null) return `${sign < 0 ? "−" : "+"}${formatNumber(reach)}`;
      return formatNumber(middle + sign * reach);
    };
    const texts = [around(-1), middle === null ? "exact" : formatNumber(middle), around(1)];
    for (const [k, text] of texts.entries()) this.ticks[k].textContent = text;
  }

  point(node) {
    this.pointedAt = node;
    const isKnown = node !== null && this.frame;
    this.about.textContent = isKnown
      ? `${this.nameOf(node)}: ${this.describeNode(node)}`
      : (this.run.note ?? "");
  }

  nameOf(node) {
    const { sites } = this.run;
    return sites
      ? `Site ${sites.names[node]}, ${formatCount(sites.rows[node])} rows`
      : `Node ${node}`;
  }

  describeNode(node) {
    const { middle, reach } = this.frame;
    const level = this.picture.levels[node];
    if (level === UNKNOWN || reach === null) return "nothing known yet";
    const value = (middle ?? 0) + ((level - MIDDLE) / MIDDLE) * reach;
    const relation = level === 0 ? "≤" : level === TOP ? "≥" : "≈";
    const what = middle === null ? "error" : this.run.colored;
    return `${what} ${relation} ${formatNumber(value, 3)}`;
  }
}
