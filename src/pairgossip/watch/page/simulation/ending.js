// The text at the end of a run: its result, the next things to try, and its code.

import { copyText, make } from "../common/elements.js";
import { formatBytes, formatCount, formatNumber } from "../common/numbers.js";
import { hasEnded, isEnough, suggest } from "./suggestions.js";

export class Ending {
  // onTry(act): the viewer wants to try a suggestion, which changes the settings.
  constructor(onTry) {
    this.onTry = onTry;
    this.element = make("section", {
      class: "ending card",
      id: "ending",
      "aria-label": "What was found",
      hidden: true,
    });
  }

  hide() {
    this.element.hidden = true;
  }

  // Once for every end, so that nothing moves under the pointer.
  show({ runs, frames, settings }) {
    if (!this.element.hidden) return;
    this.element.replaceChildren(
      ...tellFindings(runs, frames).map((text) => make("p", { text })),
      this.makeSuggestions(suggest({ settings, runs, frames })),
      makeElsewhere(runs),
    );
    this.element.hidden = false;
  }

  makeSuggestions(suggestions) {
    const buttons = suggestions.map(({ text, title, act }) =>
      make("button", { type: "button", text, title, onclick: () => this.onTry(act) }),
    );
    return make(
      "div",
      { class: "ending-next" },
      make("span", { class: "ending-quiet", text: "Try next" }),
      ...buttons,
    );
  }
}

function tellFindings(runs, frames) {
  if (runs.length === 1) {
    const [run, frame] = [runs[0], frames[0]];
    return [
      `${capitalize(tellError(run, frame))}, after ${tellTraffic(frame)}.`,
      judge(run, frame),
    ];
  }
  const each = runs.map(
    (run, k) => `${k + 1}: ${tellError(run, frames[k])}, after ${tellTraffic(frames[k])}.`,
  );
  return [...each, compare(runs, frames)].filter(Boolean);
}

function tellError(run, frame) {
  if (run.kind === "learning")
    return `the network's mean model has the objective ${formatNumber(frame.objective)}`;
  if (frame.error === null) return "no node knows enough for an estimate yet";
  const own = run.exact === null ? ", each from its own exact value" : "";
  const share = run.exact
    ? ` (${formatNumber((100 * frame.error) / Math.abs(run.exact), 2)} %)`
    : "";
  const value = run.exact === null ? "" : ` from the exact value ${formatNumber(run.exact)}`;
  const size = formatNumber(frame.error, 3);
  return `estimates are off by ${size}${share}${value}, root mean square${own}`;
}

function tellTraffic({ messages, bytes }) {
  return `${formatCount(messages)} messages, ${formatBytes(bytes)} in all`;
}

// What that means, in one sentence.
function judge(run, frame) {
  if (run.kind === "learning") {
    if (frame.spread === 0) return "All nodes have this model.";
    const apart = formatNumber(frame.spread, 3);
    return `Models of single nodes are ${apart} from it, root mean square; 0 would be agreement.`;
  }
  if (frame.error === null) return "More steps are needed before all know where the rows lie.";
  const sampling = run.sampling?.error;
  if (!sampling) return `Nodes differ from each other by ${formatNumber(frame.spread, 3)}.`;
  const limit = `the sampling error, ${formatNumber(sampling, 3)}`;
  if (isEnough(run, frame))
    return `That is little beside ${limit}: more messages would hardly tell more.`;
  const relation = frame.error < sampling ? "less than, but not little beside" : "more than";
  return hasEnded(run, frame)
    ? `That is ${relation} ${limit}, but more messages would not help: all nodes know the same.`
    : `That is ${relation} ${limit}: more messages would help.`;
}

function compare([first, second], [one, other]) {
  const name = first.kind === "learning" ? "objective" : "error";
  const [a, b] = [one[name], other[name]];
  if (!(a > 0 && b > 0) || first.kind !== second.kind) return "";
  if (a === b) return `Both runs have the same ${name}.`;
  const better = b < a ? 2 : 1;
  const smaller = compareSizes(Math.max(a, b) / Math.min(a, b));
  const [own, others] = better === 2 ? [other, one] : [one, other];
  const messages = countMessages(own.messages / others.messages);
  return `Run ${better} has the smaller ${name}, by ${smaller}, with ${messages}.`;
}

function compareSizes(ratio) {
  if (ratio < 2) return `${formatNumber(100 * (ratio - 1), 2)} %`;
  return `a factor of ${formatNumber(ratio, 2)}`;
}

function countMessages(share) {
  if (share < 1) return `${formatNumber(1 / share, 2)} times fewer messages`;
  return share > 1 ? `${formatNumber(share, 2)} times as many messages` : "as many messages";
}

function makeElsewhere(runs) {
  const blocks = runs.flatMap((run, k) => {
    const of = runs.length > 1 ? `, run ${k + 1}` : "";
    return [
      makeCode(`in Python${of}`, run.again.python),
      run.again.command ? makeCode(`on the command line${of}`, run.again.command) : null,
    ];
  });
  const summary = make("summary", {
    class: "ending-quiet",
    text: "The same without the page: Python, command line",
  });
  return make("details", {}, summary, ...blocks);
}

function makeCode(title, text) {
  const button = make("button", { type: "button", text: "Copy", "aria-label": `Copy: ${title}` });
  button.addEventListener("click", () => copyText(button, text));
  const head = make(
    "div",
    { class: "ending-code-head ending-quiet" },
    make("span", { text: title }),
    button,
  );
  return make("div", { class: "ending-code" }, head, make("pre", { tabIndex: 0, text }));
}

function capitalize(text) {
  return text[0].toUpperCase() + text.slice(1);
}
