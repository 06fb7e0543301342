// One question: its state, what leaves for it, its text, and its result with its curves.

import { ask, askFile } from "../common/api.js";
import { make } from "../common/elements.js";
import { readMarkup } from "../common/markup.js";
import { joinFirst } from "../common/names.js";
import { makeSteps } from "../common/steps.js";
import { makeButtons, makeLeaves, tried, withdraw } from "./entries.js";
import { makeOwn } from "./own.js";
import { Section } from "./section.js";
import { describeEnding, describeOrigin, describeState, formatDate } from "./words.js";

export class QuestionPage {
  constructor(number, look) {
    this.number = number;
    this.look = look;
    this.head = make("div", { class: "part-head" });
    this.state = new Section("state", "How far it is");
    this.result = make("section", { class: "card part answer", "aria-label": "Result" });
    this.result.hidden = true;
    this.leaves = new Section("leaves", "What leaves this machine");
    this.text = new Section("text", "What is asked");
    const parts = [this.state.element, this.result, this.leaves.element, this.text.element];
    const back = make("a", { class: "back", href: "#", text: "← All questions" });
    back.addEventListener("click", (event) => {
      event.preventDefault();
      history.pushState(null, "", "/");
      dispatchEvent(new HashChangeEvent("hashchange"));
    });
    this.element = make("div", { class: "one" }, back, this.head, ...parts);
  }

  update(seen) {
    const question = seen.questions.find((one) => one.number === this.number) ?? this.found;
    if (!question) this.find();
    else this.show(question, seen);
  }

  // One that came to its end long ago is not among those that are always shown.
  async find() {
    try {
      this.found = (await ask(`/api/study/questions/${this.number}`)).question;
    } catch (problem) {
      this.head.replaceChildren(make("p", { class: "alert", text: problem.message }));
    }
  }

  show(question, { pending }) {
    const { number, title, name, seen, phase } = question;
    if (this.title !== title) {
      this.title = title;
      const facts = [
        ...describeOrigin(question),
        seen ? `on ${formatDate(seen)}` : "",
        name.slice(0, 12),
      ];
      this.head.replaceChildren(
        make("h2", { text: `${number}. ${title}` }),
        make("p", { class: "sub", text: facts.filter(Boolean).join(", ") }),
      );
    }
    const isPending = pending.some((one) => one.question === name);
    const value = { question, isPending, tried: tried(question) };
    this.state.show(value, () => this.makeState(question, isPending));
    const isOver = phase === "ended" && !question.is_disclosed;
    this.leaves.rename(isOver ? "What would have left this machine" : "What leaves this machine");
    this.leaves.show(question.leaves, (all) => [makeLeaves(all, { title: "" })]);
    if (question.own) this.showOwn(question);
    else if (phase === "done" && !question.travels && !this.asked) this.showResult();
    if (!this.text.shown) this.showText();
  }

  makeState(question, isPending) {
    const { phase, yeses, needs_operator: needsOperator, is_own: isOwn } = question;
    const said = phase === "ended" ? describeEnding(question) : `It ${toVerb(question)}.`;
    const parts = [phase === "ended" ? null : makeSteps(question), make("p", { text: said })];
    if (phase === "asked") parts.push(make("p", { class: "sub", text: describeYeses(yeses) }));
    if (question.notice) parts.push(make("p", { class: "problem", text: question.notice }));
    if (isPending) {
      parts.push(make("p", { class: "decided", text: "What you decided waits for the peer." }));
    } else if (needsOperator) parts.push(makeButtons(question, this.look));
    else if (isOwn && phase === "asked") parts.push(makeWithdraw(question, this.look));
    return parts.filter(Boolean);
  }

  showOwn(question) {
    const key = JSON.stringify(question.own);
    if (key === this.own) return;
    this.own = key;
    this.result.replaceChildren(...makeOwn(question));
    this.result.hidden = false;
  }

  async showResult() {
    this.asked = true;
    try {
      const { html, files } = await ask(`/api/study/questions/${this.number}/result`);
      this.result.replaceChildren(readMarkup(html), makeFiles(this.number, files));
      this.leaves.element.hidden = true; // the result says both
      this.text.element.hidden = true;
    } catch (problem) {
      this.result.replaceChildren(make("p", { class: "problem", text: problem.message }));
      this.asked = problem.status !== 0;
    }
    this.result.hidden = false;
  }

  async showText() {
    this.text.shown = "asked";
    try {
      const { toml } = await ask(`/api/study/questions/${this.number}`);
      this.text.show(toml, (text) => [make("pre", { tabIndex: 0, text })]);
    } catch {
      this.text.shown = undefined;
    }
  }
}

function toVerb(question) {
  if (question.phase === "done" && question.travels) {
    return "is over: rows have traveled, and each member has an estimate of its own";
  }
  if (question.phase === "done") return "was answered, and all members have signed the result";
  const state = describeState(question);
  return state === "waits for you" ? "waits for your yes or no" : state;
}

function describeYeses(yeses) {
  return yeses.length ? `Yes from ${joinFirst(yeses, 12)}.` : "Nobody has said yes yet.";
}

function makeWithdraw(question, look) {
  const button = make("button", {
    type: "button",
    "data-key": "withdraw",
    text: "Withdraw…",
    onclick: () => withdraw(question, look),
  });
  return make("div", { class: "buttons" }, button);
}

// The same as files to hand on.
function makeFiles(number, files) {
  const buttons = files.map((kind) =>
    make("button", {
      type: "button",
      text: `Save as ${kind.toUpperCase()}`,
      onclick: () =>
        save(`/api/study/questions/${number}/result.${kind}`, `result-${number}.${kind}`),
    }),
  );
  return make("div", { class: "buttons" }, ...buttons);
}

async function save(path, name) {
  const address = URL.createObjectURL(await askFile(path));
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
