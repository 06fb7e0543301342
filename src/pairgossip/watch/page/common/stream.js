// A stream of events that comes back: after a restart of the server it asks anew where to listen.

const PATIENCE = 1000;

export class Stream {
  // address() promises where to listen, handlers are {event name: handler},
  // onChange(state, problem) is called with "connected" and "disconnected".
  constructor(address, handlers, onChange) {
    this.address = address;
    this.handlers = handlers;
    this.onChange = onChange;
    this.ended = false;
    this.open();
  }

  async open() {
    let place;
    try {
      place = await this.address();
    } catch (problem) {
      if (!this.ended) this.retry(problem);
      return;
    }
    if (this.ended || !place) return;
    this.source = new EventSource(place);
    this.source.onopen = () => this.onChange("connected");
    this.source.onerror = () => {
      this.source.close();
      this.retry();
    };
    for (const [name, handler] of Object.entries(this.handlers)) {
      this.source.addEventListener(name, (message) => {
        if (!this.ended) handler(JSON.parse(message.data));
      });
    }
  }

  retry(problem) {
    if (this.ended) return;
    this.onChange("disconnected", problem);
    if (problem && problem.status >= 400) return; // refused for a reason: asking again is no use
    this.timer = setTimeout(() => this.open(), PATIENCE);
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
    this.source?.close();
  }
}
