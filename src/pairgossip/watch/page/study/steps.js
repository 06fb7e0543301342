// How far a question is: five steps that all members go through together.

import { make } from "../common/elements.js";
import { STEPS } from "./words.js";

export function makeSteps({ phase, round }) {
  const at = STEPS.findIndex(([name]) => name === phase);
  const items = STEPS.map(([name, label, about], k) => {
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
