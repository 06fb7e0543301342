// Questions in lists: those that wait with what would leave, and others as a line each.

import { ask } from "../common/api.js";
import { make } from "../common/elements.js";
import { joinFirst } from "../common/names.js";
import { formatValue } from "../common/numbers.js";
import { makeSteps } from "../common/steps.js";
import { confirm, tell } from "./confirm.js";
import { describeOwn } from "./own.js";
import { describeEnding, describeOrigin, describeState, formatDate } from "./words.js";

const LONG = 320; // characters of a sentence
const TRIED = new Map(); // the effects of questions on the rows of this site, by name

// A question in one line: its number, title and how it is.
export function makeEntry(question) {
  const { number, title, phase, asked_by: asker } = question;
  const id = `question-${number}`;
  const link = make("a", { href: `#${id}`, "data-key": id, class: "title", text: title });
  return make(
    "li",
    { "data-phase": phase, "data-question": String(number) },
    make("span", { class: "number", text: String(number) }),
    make("div", { class: "what" }, link, make("p", { class: "sub", text: `asked by ${asker}` })),
    make("div", { class: "how" }, ...describeHow(question)),
  );
}

function describeHow(question) {
  if (question.phase === "done") {
    const found = question.travels ? describeOwn(question) : formatValue(question);
    return [make("span", { class: "figure", text: found || "see the result" })];
  }
  if (question.phase === "ended")
    return [make("p", { class: "sub", text: describeEnding(question) })];
  return [makeSteps(question), make("p", { class: "sub", text: describeState(question) })];
}

// A question that waits for this operator.
export function makeWaiting(question, pending, look) {
  const { number, title, expires, leaves, yeses } = question;
  const decided = pending.find((one) => one.question === question.name);
  const facts = [...describeOrigin(question), expires ? `open until ${formatDate(expires)}` : ""];
  const others = yeses.length ? `Yes so far: ${joinFirst(yeses)}.` : "";
  return make(
    "article",
    { class: "waiting", "data-question": String(number), "aria-labelledby": `q-${number}` },
    make(
      "h3",
      { id: `q-${number}` },
      make("a", {
        href: `#question-${number}`,
        "data-key": `q-${number}`,
        text: `${number}. ${title}`,
      }),
    ),
    make("p", { class: "sub", text: facts.filter(Boolean).join(", ") }),
    makeLeaves(leaves, { isShort: true }),
    others ? make("p", { class: "sub", text: others }) : null,
    decided ? showDecided(decided) : makeButtons(question, look),
  );
}

function showDecided({ request }) {
  const what = { accept: "Your yes", refuse: "Your no" }[request] ?? "What you decided";
  return make("p", { class: "decided", text: `${what} is written down, and waits for the peer.` });
}

// Sentences as they are; in short, those that are long show their beginning until they are opened.
export function makeLeaves(sentences, { title = "What would leave this machine", isShort } = {}) {
  const items = sentences.map((text, k) => make("li", {}, isShort ? fold(text, k) : text));
  return make(
    "div",
    { class: "leaves" },
    title ? make("h4", { text: title }) : null,
    make("ul", {}, ...items),
  );
}

function fold(text, k) {
  if (text.length <= LONG) return text;
  return make("details", { "data-key": `long-${k}` }, make("summary", { text }));
}

export function makeButtons(question, look) {
  const { number } = question;
  const button = (text, kind, act) =>
    make("button", {
      type: "button",
      class: kind,
      "data-key": `${kind}-${number}`,
      onclick: act,
      text,
      "aria-label": `${text.replace("…", "")} question ${number}`,
    });
  return make(
    "div",
    {},
    make(
      "div",
      { class: "buttons" },
      button("Accept…", "primary", () => accept(question, look)),
      button("Refuse…", "plain", () => refuse(question, look)),
      button("Try it on my rows", "quiet", () => tryOut(question, look)),
    ),
    makeTried(tried(question)),
  );
}

async function carryOut(request, look) {
  const { sentence } = await ask("/api/study/requests", { json: request });
  tell(sentence);
  await look();
}

function accept({ name, number, title, leaves }, look) {
  confirm({
    title: `Say yes to question ${number}?`,
    about: [
      make("p", { text: title }),
      makeLeaves(leaves),
      make("p", { text: "Your yes is final. It is signed, and so is what you were told here." }),
    ],
    action: "Say yes",
    act: () => carryOut({ request: "accept", question: name, leaves }, look),
  });
}

function refuse({ name, number, title }, look) {
  confirm({
    title: `Say no to question ${number}?`,
    about: [
      make("p", { text: title }),
      make("p", { text: "Your no ends it for all members. Nothing of this site is shown." }),
    ],
    action: "Say no",
    asksReason: true,
    isGrave: true,
    act: (because) => carryOut({ request: "refuse", question: name, because }, look),
  });
}

export function withdraw({ name, number, title }, look) {
  confirm({
    title: `Withdraw question ${number}?`,
    about: [make("p", { text: title }), make("p", { text: "This ends it for all members." })],
    action: "Withdraw",
    asksReason: true,
    isGrave: true,
    act: (because) => carryOut({ request: "withdraw", question: name, because }, look),
  });
}

// What came of trying a question, which outlives the parts of the page that show it.
export function tried({ name }) {
  return TRIED.get(name);
}

function makeTried(outcome) {
  if (!outcome) return null;
  const { sentences, problem } = outcome;
  if (problem) return make("p", { class: "problem", text: problem });
  if (!sentences) return make("p", { class: "sub", text: "Reading the rows…" });
  return makeLeaves(sentences, { title: "On the rows of this site" });
}

// Read the rows here, and show the effect of a yes; nobody else hears of it.
async function tryOut({ name, number }, look) {
  if (tried({ name })?.isRunning) return;
  TRIED.set(name, { isRunning: true });
  look();
  try {
    const request = { request: "try", question: name };
    const { sentence, sentences } = await ask("/api/study/requests", { json: request });
    TRIED.set(name, { sentences: sentences.length ? sentences : [sentence] });
    tell(`Question ${number} was tried on the rows of this site.`);
  } catch (problem) {
    TRIED.set(name, { problem: problem.message });
  }
  await look();
}
