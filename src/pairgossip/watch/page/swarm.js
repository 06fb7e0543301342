// The swarm view: real peers, read-only. Names come from peers: they only ever go in as text.

import { paintBar } from "./colors.js";
import { alertUser, make } from "./elements.js";
import { counted, spelled } from "./numbers.js";
import { PeersPicture } from "./peers.js";
import { Plot } from "./plot.js";
import { Stream } from "./stream.js";

const MOST_CURVES = 32;
const MOST_MOMENTS = 2400;
const COLUMNS = [
  ["name", "peer", "as it calls itself"],
  ["state", "state", "up; starting; frozen: its process stands still; down: gone without a word; stopped: ended in good order; evicted: the others no longer talk to it"],
  ["estimate", "estimate", "what it has found"],
  ["interval", "likely between", "where the value over all rows (under privacy, over all reports) is likely to lie, as far as the peer can tell"],
  ["covers", "has met", "members whose records it met in this generation, of those that take part"],
  ["exchanges", "exchanges", "since the first look, over all generations"],
  ["rate", "per second", "exchanges per second, over the last ten seconds"],
  ["refused", "refused", "frames it refused, because they were not what they should be"],
  ["generation", "generation", "a new one begins when a peer is evicted or gets more rows"],
  ["heard", "last heard", "since it last told of itself"],
];
const NUMBERS = ["estimate", "interval", "covers", "exchanges", "rate", "refused", "generation", "heard"];

export function spokenTime(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit} ago`;
  }
  return seconds < 1.5 ? "now" : `${Math.round(seconds)} s ago`;
}

function estimateOf(peer) {
  if (peer.parameters) return `${counted(peer.parameters)} parameters`;
  return peer.estimate === null ? "–" : spelled(peer.estimate, 6);
}

const CELLS = {
  estimate: estimateOf,
  interval: (peer) => (peer.interval ? `${spelled(peer.interval[0], 5)} and ${spelled(peer.interval[1], 5)}` : "–"),
  covers: (peer) => (peer.covers ? `${peer.covers[0]} of ${peer.covers[1]}` : "–"),
  exchanges: (peer) => counted(peer.exchanges),
  rate: (peer) => spelled(peer.rate, 3),
  refused: (peer) => counted(peer.refused),
  generation: (peer) => (peer.generation === null ? "–" : counted(peer.generation)),
  heard: (peer) => spokenTime(peer.heard),
};

export class SwarmView {
  constructor(place) {
    this.place = place;
    this.looks = 0;
  }

  async begin() {
    this.stream = new Stream(async () => "/api/swarm/events", {
      setup: (message) => this.setup(message),
      history: (message) => this.hearHistory(message),
      look: (message) => this.hearLook(message),
    }, (state) => this.connectionChanged(state));
  }

  connectionChanged(state) {
    const pill = document.getElementById("connection");
    pill.dataset.state = state;
    pill.textContent = { connected: "connected", disconnected: "disconnected, trying again" }[state] ?? state;
    this.place.classList.toggle("stale", state === "disconnected");
  }

  setup(swarm) {
    this.picture?.close();
    this.plot?.close();
    this.swarm = swarm;
    this.history = { seconds: [], estimates: swarm.names.map(() => []) };
    const facts = [`${counted(swarm.nodes)} ${swarm.nodes === 1 ? "peer" : "peers"}`];
    if (swarm.link_count) facts.push(`${counted(swarm.link_count)} links`);
    if (swarm.family) facts.push(swarm.family);
    if (swarm.measure) facts.push(swarm.measure);
    this.status = make("span", { class: "pill", role: "status", id: "swarm-status", text: "looking" });
    const head = make("div", { class: "swarm-head" },
      make("h2", { text: swarm.title }), make("span", { class: "sub", text: facts.join(", ") }), this.status, make("span", { class: "note", text: "read-only" }));
    this.totals = make("dl", { class: "tiles" });
    const canvas = make("canvas", { tabIndex: 0, role: "application", "aria-label": `Network of ${swarm.nodes} peers. Arrow keys choose a peer.` });
    this.about = make("p", { class: "about", "aria-live": "polite", text: swarm.note ?? "" });
    const bar = make("canvas", { "aria-hidden": "true" });
    this.ticks = [make("span"), make("span"), make("span")];
    const picture = make("section", { class: "card swarm-picture", "aria-label": "Network" },
      make("div", { class: "picture" }, canvas),
      make("div", { class: "bar" }, bar, make("div", { class: "ticks" }, ...this.ticks), make("p", { text: `estimate: blue below, orange above the ${swarm.exact === null ? "median of the peers" : "exact value"}; gray: not known yet` })),
      this.about);
    const plotPlace = make("div", { class: "plot", id: "swarm-curves" });
    const legend = make("div", { class: "legend", role: "group", "aria-label": "Curves shown" });
    const value = make("p", { class: "value" });
    const chart = make("section", { class: "card chart", "aria-label": "Estimates over time" }, make("div", { class: "head" }, make("h2", { text: "Estimates over time" }), legend), plotPlace, value);
    this.place.replaceChildren(make("div", { class: "swarm", id: "stage" }, head, this.totals, make("div", { class: "swarm-two" }, picture, chart), this.buildTable()));
    this.picture = new PeersPicture(canvas, { chosen: (peer) => this.choose(peer), pointed: (peer) => this.describe(peer), forgotten: () => this.choose(null) });
    this.picture.setup({ ...swarm, edges: swarm.edges });
    this.plot = new Plot(plotPlace, { legend, value, height: 400 });
    paintBar(bar);
  }

  buildTable() {
    const heads = COLUMNS.map(([key, label, meaning]) => make("th", { scope: "col", class: NUMBERS.includes(key) ? "number" : "", title: meaning, text: label }));
    this.rows = this.swarm.names.map((name) => {
      const cells = Object.fromEntries(COLUMNS.map(([key]) => [key, make("td", { class: NUMBERS.includes(key) ? "number" : "", "data-cell": key })]));
      cells.name = make("th", { scope: "row", text: name, "data-cell": "name" });
      cells.badge = make("span", { class: "badge" });
      cells.state.append(cells.badge);
      const row = make("tr", {}, ...COLUMNS.map(([key]) => cells[key]));
      const problems = make("span");
      const below = make("tr", { hidden: true }, make("td", { colSpan: COLUMNS.length, class: "problems" }, problems));
      return { cells, row, problems, below };
    });
    const body = make("tbody", {}, ...this.rows.flatMap(({ row, below }) => [row, below]));
    return make("section", { class: "card table-card", "aria-label": "Peers" },
      make("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Table of peers" }, make("table", { class: "peers" }, make("thead", {}, make("tr", {}, ...heads)), body)));
  }

  hearHistory(history) {
    this.history = history;
    this.drawCurves();
  }

  hearLook(look) {
    this.looks += 1;
    this.look = look;
    alertUser("");
    this.remember(look);
    look.peers.forEach((peer, k) => this.fillRow(this.rows[k], peer));
    this.fillTotals(look);
    this.picture.updatePeers(look);
    const { middle, reach } = look;
    const [low, center, high] = this.ticks;
    low.textContent = middle === null || reach === null ? "" : spelled(middle - reach);
    center.textContent = middle === null ? "" : spelled(middle);
    high.textContent = middle === null || reach === null ? "" : spelled(middle + reach);
    this.status.textContent = look.running === null ? "looking" : look.running ? "running" : "the swarm has ended";
    this.status.dataset.state = look.running === false ? "ended" : "connected";
    document.body.dataset.looks = String(this.looks);
    this.drawCurves();
    if (this.pointed !== undefined) this.describe(this.pointed);
  }

  fillRow({ cells, row, problems, below }, peer) {
    for (const [key, spell] of Object.entries(CELLS)) {
      const text = spell(peer);
      if (cells[key].textContent !== text) cells[key].textContent = text;
    }
    cells.badge.textContent = peer.state;
    cells.badge.dataset.state = peer.state;
    row.dataset.state = peer.state;
    cells.refused.classList.toggle("bad", peer.refused > 0);
    problems.textContent = peer.problems.join(" ");
    below.hidden = !peer.problems.length;
  }

  fillTotals(look) {
    // What evicted peers and those of an earlier generation say is about something else.
    const present = look.peers.filter((peer) => peer.state !== "evicted" && peer.generation === look.generation);
    const known = present.map((peer) => peer.estimate).filter((value) => value !== null);
    const count = (state) => look.peers.filter((peer) => peer.state === state).length;
    const away = ["starting", "frozen", "down", "stopped", "evicted", "unclear"].map((state) => [count(state), state]).filter(([number]) => number);
    const tiles = [
      ["peers", `${count("up")} up`, away.map(([number, state]) => `${number} ${state}`).join(", ") || "all of them"],
      ["mean estimate", known.length ? spelled(known.reduce((sum, value) => sum + value, 0) / known.length, 6) : "–", known.length ? `from ${spelled(Math.min(...known))} to ${spelled(Math.max(...known))}` : "none yet"],
      ["exchanges", counted(look.exchanges), `${spelled(look.rate, 3)} per second`],
      ["refused frames", counted(look.refused), "by all peers"],
      ["generation", counted(look.generation), look.generation > 1 ? "members or rows have changed" : "the first"],
    ];
    if (this.swarm.exact !== null) {
      tiles.splice(2, 0, ["exact value", spelled(this.swarm.exact, 6), this.farthest(known)]);
    }
    this.totals.replaceChildren(...tiles.map(([label, value, more]) => make("div", { "data-total": label }, make("dt", { text: label }), make("dd", {}, make("strong", { text: value }), make("span", { text: more })))));
  }

  farthest(known) {
    if (!known.length || !this.swarm.exact) return "";
    const worst = Math.max(...known.map((value) => Math.abs(value - this.swarm.exact))) / Math.abs(this.swarm.exact);
    return `farthest peer ${spelled(100 * worst, 3)} % off`;
  }

  remember(look) {
    const { seconds, estimates } = this.history;
    if (seconds.length && look.seconds <= seconds.at(-1)) return; // the history has it already
    seconds.push(look.seconds);
    look.peers.forEach((peer, k) => estimates[k].push(peer.estimate));
    if (seconds.length > MOST_MOMENTS) {
      const keep = (_, k) => (seconds.length - 1 - k) % 2 === 0;
      this.history = { seconds: seconds.filter(keep), estimates: estimates.map((curve) => curve.filter(keep)) };
    }
  }

  drawCurves() {
    const { seconds, estimates } = this.history;
    let lines;
    if (this.swarm.nodes <= MOST_CURVES) {
      lines = estimates.map((curve, k) => ({ label: this.swarm.names[k], x: seconds, y: curve, color: k, dash: ["solid", "dashed", "dotted"][Math.floor(k / 8) % 3] }));
    } else lines = this.summary(seconds, estimates);
    if (this.swarm.exact !== null) {
      lines.push({ label: "exact value", x: seconds, y: seconds.map(() => this.swarm.exact), color: 6, dash: "dotted" });
    }
    const named = new Map();
    for (const line of lines) { // several peers may call themselves the same
      const times = (named.get(line.label) ?? 0) + 1;
      named.set(line.label, times);
      if (times > 1) line.label = `${line.label} (${times})`;
    }
    this.plot.show({ lines, xLabel: "seconds since the first look", yLabel: `estimate${this.swarm.measure ? ` (${this.swarm.measure})` : ""}`, xLog: false, yLog: false });
  }

  summary(seconds, estimates) {
    const at = seconds.map((_, k) => estimates.map((curve) => curve[k]).filter((value) => value !== null).sort((a, b) => a - b));
    const part = (share) => at.map((values) => (values.length ? values[Math.round(share * (values.length - 1))] : null));
    return [
      { label: "median of the peers", x: seconds, y: part(0.5), color: 0, dash: "solid", band: { x: seconds, low: part(0.1), high: part(0.9) } },
      { label: "lowest", x: seconds, y: part(0), color: 1, dash: "dashed" },
      { label: "highest", x: seconds, y: part(1), color: 2, dash: "dashed" },
    ];
  }

  choose(peer) {
    this.rows.forEach(({ row }, k) => row.classList.toggle("chosen", k === peer));
    if (peer !== null) this.rows[peer].row.scrollIntoView({ block: "nearest" });
  }

  describe(peer) {
    this.pointed = peer;
    const found = this.look?.peers[peer];
    this.about.textContent = peer === null || !found
      ? this.swarm.note ?? ""
      : `${this.swarm.names[peer]}: ${found.state}, estimate ${estimateOf(found)}, ${counted(found.exchanges)} exchanges`;
  }
}
