// The picture of a swarm: peers colored by their estimates, marked by how they are.

import { themeColor } from "../common/elements.js";
import { NetworkPicture } from "../common/network.js";

const MOST_NAMED = 40;

export class PeersPicture extends NetworkPicture {
  setup(run) {
    this.states = [];
    super.setup(run);
  }

  updatePeers(look) {
    this.states = look.peers.map((peer) => peer.state);
    this.update({ levels: look.levels, exchanges: [], trail: [] });
  }

  // Few peers have room to be larger.
  radiusFor(size) {
    const usual = this.run.nodes === 1 ? 16 * devicePixelRatio : super.radiusFor(size);
    return Math.min(1.35 * usual, 15 * devicePixelRatio);
  }

  drawMarks(context) {
    const unit = devicePixelRatio;
    this.states.forEach((state, k) => {
      if (state !== "up") this.drawState(context, k, state, unit);
    });
    super.drawMarks(context);
    if (this.run.nodes <= MOST_NAMED) this.drawNames(context, unit);
  }

  drawState(context, k, state, unit) {
    const [x, y, r] = [this.x[k], this.y[k], this.radius];
    context.lineWidth = 2 * unit;
    context.strokeStyle = themeColor("--ink");
    context.beginPath();
    if (state === "frozen") {
      // a pause sign
      for (const side of [-0.32, 0.32]) {
        context.moveTo(x + side * r, y - 0.5 * r);
        context.lineTo(x + side * r, y + 0.5 * r);
      }
      context.lineCap = "butt";
      context.lineWidth = 5 * unit;
      context.strokeStyle = "#fff"; // seen on every color of the map
      context.stroke();
      context.lineWidth = 2.6 * unit;
      context.strokeStyle = "#000";
    } else if (state === "starting" || state === "absent") {
      context.setLineDash([3 * unit, 3 * unit]);
      context.arc(x, y, r + 4 * unit, 0, 2 * Math.PI);
    } else {
      // gone: hollow, struck through if it is down, crossed out if it was evicted
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fillStyle = themeColor("--stage");
      context.fill();
      context.strokeStyle = themeColor("--soft");
      if (state === "evicted" || state === "down") {
        context.moveTo(x - 0.5 * r, y - 0.5 * r);
        context.lineTo(x + 0.5 * r, y + 0.5 * r);
      }
      if (state === "evicted") {
        context.strokeStyle = themeColor("--warn");
        context.moveTo(x + 0.5 * r, y - 0.5 * r);
        context.lineTo(x - 0.5 * r, y + 0.5 * r);
      }
    }
    context.stroke();
    context.setLineDash([]);
  }

  drawNames(context, unit) {
    context.font = `${11 * unit}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.fillStyle = themeColor("--ink");
    context.strokeStyle = themeColor("--stage");
    context.lineWidth = 3 * unit;
    const edge = this.canvas.width - 2 * unit;
    this.run.names.forEach((name, k) => {
      const shown = name.length > 14 ? `${name.slice(0, 13)}…` : name;
      const half = context.measureText(shown).width / 2;
      const x = Math.min(Math.max(this.x[k], half + 2 * unit), edge - half);
      const below = this.y[k] + this.radius + 13 * unit;
      const y = below < this.canvas.height - 2 * unit ? below : this.y[k] - this.radius - 5 * unit;
      context.strokeText(shown, x, y);
      context.fillText(shown, x, y);
    });
  }
}
