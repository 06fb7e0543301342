// The session on the server: opened with settings, heard as a stream, steered by requests.

import { ask } from "../common/api.js";
import { alertUser } from "../common/elements.js";
import { Stream } from "../common/stream.js";

export class Session {
  // settings(): the fields to open it with; onOpen(): it is open under a key;
  // sendAgain(): promises whether a file that the server has forgotten could be sent once more;
  // handlers, onChange: as of a stream.
  constructor(key, { settings, onOpen, sendAgain, handlers, onChange }) {
    this.key = key;
    Object.assign(this, { settings, onOpen, sendAgain, handlers, onChange });
    this.turn = 0;
  }

  get address() {
    return `/api/sessions/${encodeURIComponent(this.key)}`;
  }

  listen() {
    this.stream?.close();
    this.stream = new Stream(() => this.open(), this.handlers, this.onChange);
  }

  // Another session, for other settings.
  renew() {
    this.key = "";
    this.listen();
  }

  open() {
    this.opening = this.askForKey();
    return this.opening;
  }

  // Only the newest opening counts: settings may change while an answer is on its way.
  async askForKey() {
    this.turn += 1;
    const turn = this.turn;
    let session;
    try {
      const json = { settings: this.settings(), session: this.key };
      ({ session } = await ask("/api/sessions", { json }));
    } catch (problem) {
      if (turn !== this.turn) return null;
      if (problem.argument === "upload" && (await this.sendAgain())) return this.askForKey();
      throw problem;
    }
    if (turn !== this.turn) return null;
    this.key = session;
    this.onOpen();
    return `${this.address}/events`;
  }

  async control(action, value = "") {
    try {
      await this.opening;
      await ask(`${this.address}/control`, { json: { action, value } });
    } catch (problem) {
      alertUser(problem.message);
    }
  }
}
