// How far a question of a study is: steps that all members go through together.

import { make } from "./elements.js";

const FIRST = [
  ["asked", "yes of all", "Every member decides; one no ends the question."],
  ["digests", "numbers fixed", "Every member commits to its masked numbers before it sees any."],
  ["echoes", "same seen", "Every member confirms that all have committed to the same."],
  ["words", "added up", "Masked numbers are shown; only their sum can be read."],
];
const SUMS = [...FIRST, ["statements", "signed", "Every member signs the result."]];
const ROWS = [...FIRST, ["rows", "rows travel", "Members exchange rows until all have enough."]];

export function makeSteps({ phase, round, travels }) {
  const steps = travels ? ROWS : SUMS;
  const at = steps.findIndex(([name]) => name === phase);
  const items = steps.map(([name, label, about], k) => {
    const state = phase === "done" || k < at ? "done" : k === at ? "now" : "later";
    const said = { done: "done", now: "now", later: "to come" }[state];
    return make(
      "li",
      { "data-state": state, title: about, "aria-current": name === phase && "step" },
      make("span", { text: label }),
      make("span", { class: "hidden", text: `: ${said}` }),
    );
  });
  const name = round > 1 ? `Steps, sum ${round}` : "Steps";
  return make("ol", { class: "steps", "aria-label": name }, ...items);
}
