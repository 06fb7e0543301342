// The questions of a study: the progress of each, the members it waits for, and its answer.

import { make } from "../common/elements.js";
import { joinFirst } from "../common/names.js";
import { formatCount, formatValue } from "../common/numbers.js";
import { makeSteps } from "../common/steps.js";

const MOST_SHOWN = 12;

export class QuestionsCard {
  constructor() {
    this.list = make("ol", { class: "asked" });
    this.note = make("p", { class: "note" });
    const title = make("h2", { text: "Questions" });
    const about = { class: "card asked-card", "aria-label": "Questions" };
    this.element = make("section", about, title, this.list, this.note);
  }

  update({ questions, tally }) {
    const key = JSON.stringify([questions, tally]);
    if (key === this.shown) return; // or it would be read aloud again
    this.shown = key;
    this.list.replaceChildren(...questions.slice(0, MOST_SHOWN).map(makeEntry));
    this.note.textContent = describeRest(questions, tally);
  }
}

function describeRest(questions, { answered, open, ended }) {
  const total = answered + open + ended;
  if (!total) return "No question was asked yet.";
  if (!questions.length) return "Metrics name no questions: see the folders of the members.";
  const more = total - Math.min(questions.length, MOST_SHOWN);
  return more > 0 ? `and ${formatCount(more)} more` : "";
}

function makeEntry(question) {
  const { title, phase, asked_by: asker } = question;
  return make(
    "li",
    { "data-phase": phase },
    make("p", { class: "title", text: title }),
    make("p", { class: "sub", text: `asked by ${asker}` }),
    ...describeHow(question),
  );
}

function describeHow(question) {
  const { phase, awaited, ending, rows, travels } = question;
  if (phase === "done" && travels) {
    const text = "rows have traveled; each member has an estimate of its own";
    return [make("p", { class: "sub", text })];
  }
  if (phase === "done") {
    const value = formatValue(question) || "answered";
    const about = rows ? `${formatCount(rows)} rows; signed by all members` : "";
    return [make("p", { class: "value", text: value }), make("p", { class: "sub", text: about })];
  }
  if (phase === "ended") {
    const text = ending ? `no answer: ${ending}` : "no answer";
    return [make("p", { class: "sub", text })];
  }
  const waits = awaited.length ? `waits for ${joinFirst(awaited)}` : "goes on";
  return [makeSteps(question), make("p", { class: "awaited", text: waits })];
}
