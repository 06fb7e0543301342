// What questions are called in plain words.

import { formatNumber } from "../common/numbers.js";

export const STEPS = [
  ["asked", "yes of all", "Every member decides; one no ends the question."],
  ["digests", "numbers fixed", "Every member commits to its masked numbers before it sees any."],
  ["echoes", "same seen", "Every member confirms that all have committed to the same."],
  ["words", "added up", "Masked numbers are shown; only their sum can be read."],
  ["statements", "signed", "Every member signs the result."],
];

const ENDINGS = {
  no: "said no",
  withdrawn: "withdrew the question",
  expired: "asked it, and not all had answered in time",
  cannot: "could not take part",
  lie: "contradicted itself, which its own signatures prove",
  left: "is not a member any more",
  unfinished: "did not go on after numbers were shown",
};

export function join(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export function joinFirst(names, most = 6) {
  if (names.length <= most) return join(names);
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

export function describeEnding({ ending, is_disclosed: isDisclosed }) {
  if (!ending) return isDisclosed ? "It ended after numbers were shown." : "It ended.";
  const because = ending.because ? `: ${ending.because}` : "";
  const sentence = `${ending.who} ${ENDINGS[ending.kind] ?? ending.kind}${because}`;
  const full = /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
  const left = isDisclosed
    ? "Masked numbers of this site were shown, and count as disclosed."
    : "Nothing of this site was shown.";
  return `${full} ${left}`;
}

export function describeState(question) {
  const { phase, awaited, needs_operator: needsOperator } = question;
  if (phase === "done") return "answered";
  if (phase === "ended") return "ended";
  if (needsOperator) return "waits for you";
  return awaited.length ? `waits for ${joinFirst(awaited)}` : "goes on";
}

export function formatDate(seconds) {
  const date = new Date(seconds * 1000);
  if (!seconds || Number.isNaN(date.valueOf())) return "";
  return date.toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

export function formatValue({ value, interval }) {
  if (value === null || value === undefined) return "";
  const ends = interval
    ? ` (95 %: ${interval.map((end) => formatNumber(end, 4)).join(" to ")})`
    : "";
  return `${formatNumber(value, 4)}${ends}`;
}
