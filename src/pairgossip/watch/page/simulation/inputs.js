// The parts of a form, and the choices.

import { make, option } from "../common/elements.js";

export function makeField(label, control, hint) {
  const below = hint ? make("span", { class: "hint", text: hint }) : null;
  return make("label", { class: "field" }, make("span", { text: label }), control, below);
}

export function makeSelect(id, choices, chosen, onChoose) {
  const options = choices.map(([value, text]) => option(value, text, chosen));
  return make("select", { id, onchange: (event) => onChoose(event.target.value) }, ...options);
}

export function makeGroup(label, options) {
  const group = make("optgroup", {}, ...options);
  group.label = label;
  return group;
}

export function makePart(title, ...children) {
  return make("fieldset", {}, make("legend", { text: title }), ...children);
}

export function namePairs(all) {
  return all.map(({ name }) => [name, name]);
}

// Boxes to choose columns with: several, or a single one; at least one always stays.
export function makeColumns(columns, chosen, isSingle, onChoose) {
  const choose = (name, isChecked) => {
    const others = isSingle ? [] : chosen.filter((each) => each !== name);
    const isKept = (each) => others.includes(each) || (each === name && isChecked);
    const next = columns.filter(isKept);
    onChoose(next.length ? next : [name]);
  };
  const boxes = columns.map((name, k) => {
    const box = make("input", {
      type: "checkbox",
      id: `column-${k}`,
      checked: chosen.includes(name),
      onchange: (event) => choose(name, event.target.checked),
    });
    return make("label", {}, box, make("span", { text: name || "(unnamed)" }));
  });
  return make(
    "div",
    { class: "field", role: "group", "aria-label": "columns" },
    make("span", { text: isSingle ? "column" : "columns" }),
    make("div", { class: "columns" }, ...boxes),
  );
}

export const CLOCKS = { sync: "synchronous: all update", async: "asynchronous: two update" };
export const SCHEDULES = {
  random: "random edges",
  ordered: "ordered: all edges in turn",
  continuized: "continuized: random edges, two registers",
  tree: "tree: up and down once",
};
export const LEVELS = [
  ["0.9", "90 %"],
  ["0.95", "95 %"],
  ["0.99", "99 %"],
  ["none", "none"],
];
