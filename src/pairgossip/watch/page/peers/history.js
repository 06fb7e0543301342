// The estimates of all peers over time, and the curves drawn of them.

const MOST_CURVES = 32;
const MOST_MOMENTS = 2400;
const PALETTE = 8;
const GRAY = 6;

export class History {
  constructor(swarm) {
    this.swarm = swarm;
    this.seconds = [];
    this.estimates = swarm.names.map(() => []);
  }

  // What the server remembers of the time before this page was opened.
  restore({ seconds, estimates }) {
    Object.assign(this, { seconds, estimates });
  }

  add(look) {
    if (this.seconds.length && look.seconds <= this.seconds.at(-1)) return; // it is there already
    this.seconds.push(look.seconds);
    for (const [k, peer] of look.peers.entries()) this.estimates[k].push(peer.estimate);
    if (this.seconds.length > MOST_MOMENTS) this.thin();
  }

  // Every second moment goes, the newest stays.
  thin() {
    const last = this.seconds.length - 1;
    const isKept = (_, k) => (last - k) % 2 === 0;
    this.seconds = this.seconds.filter(isKept);
    this.estimates = this.estimates.map((curve) => curve.filter(isKept));
  }

  plot() {
    const { exact, measure, nodes } = this.swarm;
    const lines = nodes <= MOST_CURVES ? this.drawPeers() : this.drawSummary();
    if (exact !== null) {
      const y = this.seconds.map(() => exact);
      lines.push({ label: "exact value", x: this.seconds, y, color: GRAY, dash: "dotted" });
    }
    return {
      lines: tellApart(lines),
      xLabel: "seconds since the first look",
      yLabel: `estimate${measure ? ` (${measure})` : ""}`,
      xLog: false,
      yLog: false,
    };
  }

  drawPeers() {
    return this.estimates.map((curve, k) => ({
      label: this.swarm.names[k],
      x: this.seconds,
      y: curve,
      color: k,
      dash: ["solid", "dashed", "dotted"][Math.floor(k / PALETTE) % 3],
    }));
  }

  drawSummary() {
    const moments = this.seconds.map((_, k) => {
      const known = this.estimates.map((curve) => curve[k]).filter((value) => value !== null);
      return known.sort((a, b) => a - b);
    });
    const quantile = (share) =>
      moments.map((values) => values[Math.round(share * (values.length - 1))] ?? null);
    const x = this.seconds;
    const band = { x, low: quantile(0.1), high: quantile(0.9) };
    return [
      { label: "median of the peers", x, y: quantile(0.5), color: 0, dash: "solid", band },
      { label: "lowest", x, y: quantile(0), color: 1, dash: "dashed" },
      { label: "highest", x, y: quantile(1), color: 2, dash: "dashed" },
    ];
  }
}

// Several peers may call themselves the same.
function tellApart(lines) {
  const counts = new Map();
  return lines.map((line) => {
    const count = (counts.get(line.label) ?? 0) + 1;
    counts.set(line.label, count);
    return count > 1 ? { ...line, label: `${line.label} (${count})` } : line;
  });
}
