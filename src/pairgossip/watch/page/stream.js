// A stream of events that comes back: after a restart of the server it asks anew where to listen.

const PATIENCE = 1000;

export class Stream {
  // address() promises where to listen, heard is {event name: handler}, changed(state) hears of
  // "connecting", "connected" and "disconnected".
  constructor(address, heard, changed) {
    this.address = address;
    this.heard = heard;
    this.changed = changed;
    this.ended = false;
    this.open();
  }

  async open() {
    let place;
    try {
      place = await this.address();
    } catch (problem) {
      if (!this.ended) this.lost(problem);
      return;
    }
    if (this.ended || !place) return;
    this.source = new EventSource(place);
    this.source.onopen = () => this.changed("connected");
    this.source.onerror = () => {
      this.source.close();
      this.lost();
    };
    for (const [name, handler] of Object.entries(this.heard)) {
      this.source.addEventListener(name, (message) => {
        if (!this.ended) handler(JSON.parse(message.data));
      });
    }
  }

  lost(problem) {
    if (this.ended) return;
    this.changed("disconnected", problem);
    if (problem && problem.status >= 400) return; // refused for a reason: asking again is no use
    this.timer = setTimeout(() => this.open(), PATIENCE);
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
    this.source?.close();
  }
}
