// A part of the page that is rebuilt only if its contents have changed, and keeps the focus.

import { make } from "../common/elements.js";

export class Section {
  constructor(id, title) {
    this.title = make("span", { text: title });
    this.count = make("span", { class: "count" });
    this.body = make("div", { class: "body" });
    this.element = make(
      "section",
      { class: "card part", id, "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title` }, this.title, " ", this.count),
      this.body,
    );
  }

  rename(title) {
    this.title.textContent = title;
  }

  // Show the element that `build` makes from a value, if it is not shown already.
  show(value, build, count = null) {
    this.count.textContent = count === null ? "" : String(count);
    const key = JSON.stringify(value);
    if (key === this.shown) return;
    this.shown = key;
    const focus = this.body.contains(document.activeElement) && document.activeElement.dataset.key;
    const opened = [...this.body.querySelectorAll("details[open]")].map((one) => one.dataset.key);
    this.body.replaceChildren(...build(value));
    for (const one of opened) {
      const details = one && this.body.querySelector(`details[data-key="${CSS.escape(one)}"]`);
      if (details) details.open = true;
    }
    if (focus) this.body.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }
}

export function nothing(text) {
  return make("p", { class: "empty", text });
}
