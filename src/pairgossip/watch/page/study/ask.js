// Ask a question: what would leave this machine is shown before it is asked.

import { ask } from "../common/api.js";
import { make } from "../common/elements.js";
import { confirm, tell } from "./confirm.js";
import { makeLeaves } from "./entries.js";
import { Section } from "./section.js";

const LONGEST = 60_000; // characters
const USUAL_DAYS = 7;
const MOST_DAYS = 365;
const EXAMPLE = `kernel = "auc"
columns = ["risk"]
label = "died"
classes = ["no", "yes"]

[ranges]
risk = [0.0, 1.0]`;

export class AskForm extends Section {
  constructor(look) {
    super("ask", "Ask a question");
    this.look = look;
    this.text = make("textarea", {
      id: "ask-text",
      rows: 9,
      spellcheck: false,
      maxLength: LONGEST,
      placeholder: EXAMPLE,
      oninput: () => this.forget(),
    });
    this.file = make("input", {
      id: "ask-file",
      type: "file",
      accept: ".toml,text/plain",
      onchange: () => this.readFile(),
    });
    this.days = make("input", {
      id: "ask-days",
      type: "number",
      min: 1,
      max: MOST_DAYS,
      step: 1,
      value: USUAL_DAYS,
      required: true,
    });
    this.fresh = make("input", {
      id: "ask-fresh",
      type: "checkbox",
      onchange: () => this.forget(),
    });
    this.preview = make("div", { class: "preview", role: "status" });
    this.body.append(this.makeForm());
  }

  makeForm() {
    const form = make(
      "form",
      {},
      field("ask-text", "The question, as a specification in TOML", this.text),
      make(
        "div",
        { class: "pair" },
        field("ask-file", "or from a file", this.file),
        field("ask-days", "open for how many days", this.days),
      ),
      make(
        "label",
        { class: "check", htmlFor: "ask-fresh" },
        this.fresh,
        "Count rows that were added since, even where tables of before can answer at once",
      ),
      make(
        "div",
        { class: "buttons" },
        make("button", { type: "submit", text: "Show what would leave" }),
      ),
      this.preview,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.showPreview();
    });
    return form;
  }

  update({ status }) {
    this.members = status.members.filter((one) => one.is_listed).length;
  }

  async readFile() {
    const [file] = this.file.files;
    if (!file) return;
    this.text.value = (await file.text()).slice(0, LONGEST);
    this.forget();
  }

  // What was shown is of another text.
  forget() {
    this.draft = null;
    this.preview.replaceChildren();
    this.text.removeAttribute("aria-invalid");
  }

  async showPreview() {
    const draft = { text: this.text.value, is_fresh: this.fresh.checked };
    this.forget();
    this.draft = draft;
    let preview;
    try {
      preview = await ask("/api/study/preview", { json: draft });
    } catch (problem) {
      if (draft !== this.draft) return;
      this.text.setAttribute("aria-invalid", "true");
      this.preview.replaceChildren(make("p", { class: "problem", text: problem.message }));
      return;
    }
    if (draft !== this.draft) return;
    const { title, leaves } = preview;
    this.preview.replaceChildren(
      make("h3", { text: title }),
      makeLeaves(leaves, { isShort: true }),
      make(
        "div",
        { class: "buttons" },
        make("button", {
          type: "button",
          class: "primary",
          text: "Ask all members…",
          onclick: () => this.confirm(draft, preview),
        }),
      ),
    );
  }

  confirm(draft, { title, leaves }) {
    const others = Math.max(this.members - 1, 0);
    const said =
      `All ${others} other members are asked. With the question goes this site's yes, ` +
      "which is final; the numbers leave only once all have said yes.";
    confirm({
      title: "Ask this question?",
      about: [make("p", { text: title }), makeLeaves(leaves), make("p", { text: said })],
      action: "Ask",
      act: () => this.send(draft, leaves),
    });
  }

  async send(draft, leaves) {
    const days = Number(this.days.value);
    const request = { request: "ask", ...draft, days, leaves };
    tell((await ask("/api/study/requests", { json: request })).sentence);
    this.text.value = "";
    this.file.value = "";
    this.forget();
    await this.look();
  }
}

function field(id, label, input) {
  return make("div", { class: "field" }, make("label", { htmlFor: id, text: label }), input);
}
