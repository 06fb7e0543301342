// The rounds of sums: what each is for, who has contributed, and who is awaited.

import { make } from "../common/elements.js";
import { formatBracket, formatCount, formatNumber } from "../common/numbers.js";

const MOST_NAMED = 6;
const MOST_ENDED = 4; // complete sums in a row; more become one line

export class RoundsCard {
  constructor() {
    this.list = make("ol", { class: "rounds" });
    this.result = make("dl", { class: "found", hidden: true });
    this.element = make(
      "section",
      { class: "card rounds-card", "aria-label": "Rounds of sums" },
      make("h3", { text: "Rounds of sums" }),
      make("p", {
        class: "note",
        text: "Every member contributes masked numbers; nothing but their sum becomes known.",
      }),
      this.list,
      this.result,
    );
  }

  update({ rounds, result }) {
    this.list.replaceChildren(...joinEnded(rounds).map(makeRound));
    this.result.hidden = !result;
    if (result) this.result.replaceChildren(...describeResult(result));
  }
}

// The value with its two errors: of sampling, and what the cells leave open.
function describeResult(result) {
  const value = result.parameters
    ? `a model of ${formatCount(result.parameters)} parameters`
    : formatNumber(result.estimate, 6);
  const parts = [make("dt", { text: "result" }), make("dd", { class: "value", text: value })];
  const add = (name, text, about) =>
    parts.push(
      make("dt", { text: name }),
      make("dd", {}, make("span", { text }), make("small", { text: about })),
    );
  const { sampling_error: error, sampling_interval: interval, rounds } = result;
  if (interval) {
    const size = error === null ? "" : `${formatNumber(error, 2)}, `;
    const allows = rounds.bracket ? "; allows for what counts leave open" : "";
    const about = `for the population that rows are drawn from; falls with rows${allows}`;
    const ends = interval.map((end) => formatNumber(end, 5)).join(" to ");
    add("sampling error", `${size}95 %: ${ends}`, about);
  }
  if (rounds.bracket) {
    add("certainly", formatBracket(rounds.bracket), "over all rows: what the counts leave open");
  }
  return parts;
}

// Learning takes tens of sums: those that are complete become one entry.
function joinEnded(rounds) {
  const isSum = ({ number, purpose }) => number > 0 && purpose === rounds[1].purpose;
  const joined = rounds.filter((one) => isSum(one) && isComplete(one));
  if (joined.length <= MOST_ENDED) return rounds;
  const [first, last] = [joined[0], joined.at(-1)];
  return [
    ...rounds.filter((one) => one.number < first.number),
    { ...last, label: `${first.number} to ${last.number}`, purpose: `each a ${first.purpose}` },
    ...rounds.filter((one) => one.number > last.number),
  ];
}

function isComplete({ held, members }) {
  return held >= members;
}

function makeRound(round) {
  const { number, label, purpose, held, members, awaited } = round;
  const state = isComplete(round) ? "complete" : "open";
  const meter = make("progress", { max: members || 1, value: held });
  meter.setAttribute("aria-label", `${held} of ${members} members have contributed`);
  const names = awaited.slice(0, MOST_NAMED).join(", ");
  const more = awaited.length > MOST_NAMED ? ` and ${awaited.length - MOST_NAMED} more` : "";
  return make(
    "li",
    { "data-state": state, "data-round": String(number) },
    make("span", { class: "number", text: label ?? String(number) }),
    make("span", { class: "purpose", text: purpose }),
    meter,
    make("span", { class: "count", text: `${formatCount(held)} of ${formatCount(members)}` }),
    awaited.length ? make("p", { class: "awaited", text: `waits for ${names}${more}` }) : null,
  );
}
