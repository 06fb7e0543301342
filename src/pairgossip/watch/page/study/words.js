// What questions are called in plain words.

import { joinFirst } from "../common/names.js";

const ENDINGS = {
  no: "said no",
  withdrawn: "withdrew the question",
  expired: "ended the question, as its time was over",
  cannot: "could not take part",
  lie: "contradicted itself, which its own signatures prove",
  left: "is not a member any more",
  unfinished: "did not go on after numbers were shown",
};

export function describeEnding({ ending, travels, is_disclosed: isDisclosed }) {
  const shown = travels ? "Rows of this site were sent" : "Masked numbers of this site were shown";
  if (!ending) return isDisclosed ? `It ended. ${shown}.` : "It ended.";
  const because = ending.because && ending.kind !== "left" ? `: ${ending.because}` : "";
  const sentence = `${ending.who} ${ENDINGS[ending.kind] ?? ending.kind}${because}`;
  const full = /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
  const left = isDisclosed
    ? `${shown}, and count as disclosed.`
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

// Who has asked, and for which earlier question.
export function describeOrigin({ asked_by: asker, corrects }) {
  return [`asked by ${asker}`, ...(corrects ? [`corrects question ${corrects}`] : [])];
}

export function formatDate(seconds) {
  const date = new Date(seconds * 1000);
  if (!seconds || Number.isNaN(date.valueOf())) return "";
  return date.toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "short",
  });
}
