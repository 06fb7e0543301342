// The record of disclosures: what has left this machine, and whether the record is whole.

import { ask } from "../common/api.js";
import { make } from "../common/elements.js";
import { nothing, Section } from "./section.js";
import { formatDate } from "./words.js";

export class Record extends Section {
  constructor() {
    super("record", "What has left this machine");
    this.checked = make("p", { class: "checked", role: "status", hidden: true });
    this.button = make("button", {
      type: "button",
      text: "Check the record",
      onclick: () => this.check(),
    });
    this.element.append(make("div", { class: "buttons" }, this.button), this.checked);
  }

  update(record) {
    this.button.hidden = !record.lines;
    this.show(record, makeLines, record.lines);
  }

  async check() {
    this.button.disabled = true;
    try {
      const { sentence } = await ask("/api/study/record");
      this.say(sentence, "whole");
    } catch (problem) {
      this.say(problem.message, "broken");
    }
    this.button.disabled = false;
  }

  say(sentence, state) {
    this.checked.textContent = sentence;
    this.checked.dataset.state = state;
    this.checked.hidden = false;
  }
}

function makeLines({ last, lines }) {
  if (!last.length) return [nothing("Nothing has left this machine.")];
  const more = lines - last.length;
  const rows = last.map(({ when, sentence, number }, k) => {
    const what = number ? `${sentence}, question ${number}` : sentence;
    const link = { href: `#question-${number}`, "data-key": `line-${k}`, text: what };
    const shown = number ? make("a", link) : make("span", { text: what });
    const date = formatDate(Date.parse(when) / 1000) || when;
    return make("li", {}, make("span", { class: "sub", text: date }), shown);
  });
  const note = `${more} earlier lines: pairgossip peer disclosed`;
  return [
    make("ul", { class: "lines" }, ...rows),
    more > 0 ? make("p", { class: "hint", text: note }) : null,
  ].filter(Boolean);
}
