// The view of real peers, read-only.

import { makeChart } from "../common/chart.js";
import { paintBar } from "../common/colors.js";
import { alertUser, make, showConnection } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";
import { Plot } from "../common/plot.js";
import { Stream } from "../common/stream.js";
import { History } from "./history.js";
import { PeersPicture } from "./picture.js";
import { QuestionsCard } from "./questions.js";
import { formatAnswered, formatEstimate, PeersTable } from "./table.js";
import { countStates, makeTotals } from "./totals.js";
import { Troubles } from "./troubles.js";

const CHART_HEIGHT = 400;

export class PeersView {
  constructor(place) {
    this.place = place;
    this.looks = 0;
    this.pointedAt = null;
  }

  async begin() {
    const handlers = {
      setup: (message) => this.setup(message),
      history: (message) => this.showHistory(message),
      look: (message) => this.showLook(message),
    };
    const changeConnection = (state) => {
      showConnection(state);
      this.place.classList.toggle("stale", state === "disconnected");
    };
    this.stream = new Stream(async () => "/api/swarm/events", handlers, changeConnection);
  }

  setup(swarm) {
    this.swarm = swarm;
    this.history = new History(swarm);
    this.layOut(false);
  }

  // Members of a study have questions instead of curves, and other columns.
  layOut(isStudy) {
    this.picture?.close();
    this.plot?.close();
    const { swarm } = this;
    this.isStudy = isStudy;
    this.table = new PeersTable(swarm.names, isStudy);
    this.questions = new QuestionsCard();
    this.troubles = new Troubles();
    this.totals = make("dl", { class: "tiles" });
    const chart = makeChart({
      id: "swarm-curves",
      label: "Estimates over time",
      title: "Estimates over time",
    });
    this.canvas = make("canvas", {
      tabIndex: 0,
      role: "application",
      "aria-label": describeNetwork(swarm.nodes),
    });
    this.place.replaceChildren(
      make(
        "div",
        { class: "swarm", id: "stage" },
        this.makeHead(),
        this.troubles.element,
        this.totals,
        make(
          "div",
          { class: "swarm-two" },
          this.makePicture(this.canvas),
          isStudy ? this.questions.element : chart.element,
        ),
        this.table.element,
      ),
    );
    this.picture = new PeersPicture(this.canvas, {
      onChoose: (peer) => this.table.choose(peer),
      onPoint: (peer) => this.point(peer),
      onForget: () => this.table.choose(null),
    });
    this.picture.setup(swarm);
    this.plot = new Plot(chart.place, { ...chart, height: CHART_HEIGHT });
  }

  makeHead() {
    const { nodes, link_count: links, family, measure, title } = this.swarm;
    const peers = `${formatCount(nodes)} ${nodes === 1 ? "peer" : "peers"}`;
    const facts = [peers, links ? `${formatCount(links)} links` : null, family, measure];
    this.status = make("span", {
      class: "pill",
      role: "status",
      id: "swarm-status",
      text: "looking",
    });
    return make(
      "div",
      { class: "swarm-head" },
      make("h2", { text: title }),
      make("span", { class: "sub", text: facts.filter(Boolean).join(", ") }),
      this.status,
      make("span", { class: "note", text: "read-only" }),
    );
  }

  makePicture(canvas) {
    const { exact, note } = this.swarm;
    const bar = make("canvas", { "aria-hidden": "true", hidden: this.isStudy });
    paintBar(bar);
    this.about = make("p", { class: "about", "aria-live": "polite", text: note ?? "" });
    this.ticks = [make("span"), make("span"), make("span")];
    const middle = exact === null ? "median of the peers" : "exact value";
    const text = this.isStudy
      ? "in the first open question, or else the last: orange has said its word, blue is " +
        "awaited; gray: knows of none"
      : `estimate: blue below, orange above the ${middle}; gray: not known yet`;
    return make(
      "section",
      { class: "card swarm-picture", "aria-label": "Network" },
      make("div", { class: "picture" }, canvas),
      make(
        "div",
        { class: "bar" },
        bar,
        make("div", { class: "ticks" }, ...this.ticks),
        make("p", { text }),
      ),
      this.about,
    );
  }

  showHistory(history) {
    this.history.restore(history);
    this.plot.show(this.history.plot());
  }

  showLook(look) {
    this.looks += 1;
    this.look = look;
    alertUser("");
    if ((look.study !== null) !== this.isStudy) this.layOut(look.study !== null);
    if (look.study) this.questions.update(look.study);
    this.history.add(look);
    this.troubles.update(this.swarm.names, look.peers);
    this.table.update(look.peers, look.order);
    this.totals.replaceChildren(...makeTotals(look, this.swarm.exact));
    this.picture.updatePeers(look);
    this.canvas.setAttribute("aria-label", describeNetwork(look.peers.length, look.peers));
    if (!this.isStudy) this.showTicks(look);
    this.showStatus(look.running);
    document.body.dataset.looks = String(this.looks);
    if (!this.isStudy) this.plot.show(this.history.plot());
    if (this.pointedAt !== null) this.point(this.pointedAt);
  }

  showTicks({ middle, reach }) {
    const format = (sign) =>
      middle === null || reach === null ? "" : formatNumber(middle + sign * reach);
    const texts = [format(-1), middle === null ? "" : formatNumber(middle), format(1)];
    for (const [k, text] of texts.entries()) this.ticks[k].textContent = text;
  }

  // Whether the swarm runs, or null where nobody knows yet.
  showStatus(isRunning) {
    const ended = isRunning === false;
    const text = ended ? "the swarm has ended" : "running";
    this.status.textContent = isRunning === null ? "looking" : text;
    this.status.dataset.state = ended ? "ended" : "connected";
  }

  point(peer) {
    this.pointedAt = peer;
    const found = this.look?.peers[peer];
    this.about.textContent = found
      ? `${this.swarm.names[peer]}: ${found.state}, ${this.describe(found)}`
      : (this.swarm.note ?? "");
  }

  describe(peer) {
    if (this.isStudy) return `${formatAnswered(peer)} questions answered`;
    return `estimate ${formatEstimate(peer)}, ${formatCount(peer.exchanges)} exchanges`;
  }
}

function describeNetwork(count, peers) {
  const states = peers ? `: ${countStates(peers)}` : "";
  return `Network of ${formatCount(count)} peers${states}. Arrow keys choose a peer.`;
}
