// The table of peers. Names come from peers: they only ever go in as text.

import { make } from "../common/elements.js";
import { formatCount, formatNumber } from "../common/numbers.js";

const MOST_AWAITED = 3;
const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
];

function formatAge(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, size] of UNITS) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit} ago`;
  }
  return seconds < 1.5 ? "now" : `${Math.round(seconds)} s ago`;
}

export function formatEstimate(peer) {
  if (peer.parameters) return `${formatCount(peer.parameters)} parameters`;
  return peer.estimate === null ? "–" : formatNumber(peer.estimate, 6);
}

// An error, if it is not too small to show, and the range of the value that follows from it.
function formatError(error, interval, bound = "") {
  if (interval === null) return "–";
  const ends = interval.map((end) => formatNumber(end, 5)).join(" to ");
  return error === null ? ends : `${bound}${formatNumber(error, 2)} (${ends})`;
}

// Under privacy the noise of the reports accounts for a part that is known at most.
function formatSamplingError(peer) {
  const bound = peer.privacy_error === null ? "" : "at least ";
  return formatError(peer.sampling_error, peer.sampling_interval, bound);
}

export function formatAnswered({ tally }) {
  if (!tally) return "–";
  return `${formatCount(tally.answered)} of ${formatCount(tally.answered + tally.open)}`;
}

function formatAwaited({ awaited }) {
  if (!awaited.length) return "–";
  const more = awaited.length > MOST_AWAITED ? ", …" : "";
  return awaited.slice(0, MOST_AWAITED).join(", ") + more;
}

// Those with a format are numbers.
const FIRST_COLUMNS = [
  { key: "name", label: "peer", meaning: "as it calls itself" },
  {
    key: "state",
    label: "state",
    meaning:
      "up; starting; frozen: its process stands still; down: ended without notice; " +
      "stopped: shut down normally; evicted: the others no longer talk to it; " +
      "absent: it has not joined yet",
  },
];

const EXCHANGE_COLUMNS = [
  {
    key: "estimate",
    label: "estimate",
    meaning: "what it has found",
    format: formatEstimate,
  },
  {
    key: "gossip_error",
    label: "gossip error",
    meaning:
      "of this peer, and where the value over all rows (under privacy, over all reports) is " +
      "likely to lie; it falls with messages",
    format: (peer) => formatError(peer.gossip_error, peer.gossip_interval),
  },
  {
    key: "sampling_error",
    label: "sampling error",
    meaning:
      "of the value over all rows, and the 95 % interval for the population they are drawn " +
      "from (under privacy with the noise of the reports); it falls with rows only",
    format: formatSamplingError,
  },
  {
    key: "covers",
    label: "has met",
    meaning: "members whose records it met in this generation, of those that take part",
    format: ({ covers }) => (covers ? `${covers[0]} of ${covers[1]}` : "–"),
  },
  {
    key: "exchanges",
    label: "exchanges",
    meaning: "since the first look, over all generations",
    format: (peer) => formatCount(peer.exchanges),
  },
  {
    key: "rate",
    label: "per second",
    meaning: "exchanges per second, over the last ten seconds",
    format: (peer) => formatNumber(peer.rate, 3),
  },
];

const STUDY_COLUMNS = [
  {
    key: "rows",
    label: "rows",
    meaning: "rows of this member's own",
    format: ({ rows }) => (rows === null ? "–" : formatCount(rows)),
  },
  {
    key: "members",
    label: "members",
    meaning: "members of its list, with itself",
    format: ({ members }) => (members ? formatCount(members) : "–"),
  },
  {
    key: "connected",
    label: "connected",
    meaning: "other members that it is connected to",
    format: ({ covers }) => (covers ? `${covers[0]} of ${covers[1]}` : "–"),
  },
  {
    key: "answered",
    label: "answered",
    meaning: "questions answered, of those that it knows of and that did not end otherwise",
    format: formatAnswered,
  },
  {
    key: "awaited",
    label: "waits for",
    meaning: "members whose word it lacks in the question that was asked first of those open",
    format: formatAwaited,
  },
];

const REFUSED = {
  key: "refused",
  label: "refused",
  meaning: "frames it refused, because they were not what they should be",
  format: (peer) => formatCount(peer.refused),
};

const GENERATION = {
  key: "generation",
  label: "generation",
  meaning: "a new one begins when a peer is evicted or gets more rows",
  format: ({ generation }) => (generation === null ? "–" : formatCount(generation)),
};

const HEARD = {
  key: "heard",
  label: "last heard",
  meaning: "time since it last reported",
  format: (peer) => formatAge(peer.heard),
};

function columnClass({ format }) {
  return format ? "number" : "";
}

export class PeersTable {
  constructor(names, isStudy) {
    const own = isStudy
      ? [...STUDY_COLUMNS, REFUSED, HEARD]
      : [...EXCHANGE_COLUMNS, REFUSED, GENERATION, HEARD];
    this.columns = [...FIRST_COLUMNS, ...own];
    const heads = this.columns.map((column) =>
      make("th", {
        scope: "col",
        class: columnClass(column),
        title: column.meaning,
        text: column.label,
      }),
    );
    this.rows = names.map((name) => this.makeRow(name));
    this.body = make("tbody");
    const head = make("thead", {}, make("tr", {}, ...heads));
    this.element = make(
      "section",
      { class: "card table-card", "aria-label": "Peers" },
      make(
        "div",
        { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Table of peers" },
        make("table", { class: "peers" }, head, this.body),
      ),
    );
  }

  makeRow(name) {
    const cells = {};
    for (const column of this.columns) {
      cells[column.key] = make("td", { class: columnClass(column), "data-cell": column.key });
    }
    cells.name = make("th", { scope: "row", text: name, "data-cell": "name" });
    const badge = make("span", { class: "badge" });
    cells.state.append(badge);
    const row = make("tr", {}, ...this.columns.map(({ key }) => cells[key]));
    const problems = make("span");
    const cell = make("td", { colSpan: this.columns.length, class: "problems" }, problems);
    return { cells, badge, row, problems, below: make("tr", { hidden: true }, cell) };
  }

  // order: the numbers of the peers, those first that are to be looked at.
  update(peers, order) {
    for (const [k, peer] of peers.entries()) this.fillRow(this.rows[k], peer);
    const key = order.join(" ");
    if (key === this.order) return;
    this.order = key;
    const rows = order.map((k) => this.rows[k]);
    this.body.replaceChildren(...rows.flatMap(({ row, below }) => [row, below]));
  }

  fillRow({ cells, badge, row, problems, below }, peer) {
    for (const { key, format } of this.columns) {
      const text = format?.(peer);
      if (format && cells[key].textContent !== text) cells[key].textContent = text;
    }
    badge.textContent = peer.state;
    badge.dataset.state = peer.state;
    row.dataset.state = peer.state;
    cells.refused.classList.toggle("bad", peer.refused > 0);
    problems.textContent = peer.problems.join(" ");
    below.hidden = !peer.problems.length;
  }

  // Mark the row of one peer, or no row.
  choose(peer) {
    for (const [k, { row }] of this.rows.entries()) row.classList.toggle("chosen", k === peer);
    if (peer !== null) this.rows[peer].row.scrollIntoView({ block: "nearest" });
  }
}
