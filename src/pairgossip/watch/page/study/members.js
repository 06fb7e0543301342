// Members, and those who are to be members. Names come from others: they only ever go in as text.

import { ask } from "../common/api.js";
import { make } from "../common/elements.js";
import { confirm, tell } from "./confirm.js";
import { key, nothing } from "./section.js";
import { join, joinFirst } from "./words.js";

const UNITS = [
  ["days", 86400],
  ["hours", 3600],
  ["minutes", 60],
];

export function makeMembers({ id, members, neighbors, running }) {
  if (!members.length) return [nothing("No list of members yet: invite others, and join.")];
  const rows = members.map((one) => makeMember(one, one.card.id === id, neighbors, running));
  return [make("ul", { class: "members" }, ...rows)];
}

function makeMember(
  { card, is_listed: isListed, is_accepted: isAccepted },
  isMe,
  neighbors,
  running,
) {
  const link = neighbors[card.name];
  const state = isMe ? "this peer" : describeLink(link, running);
  const notes = [];
  if (!isListed) notes.push("not on the list");
  if (!isAccepted) notes.push("not accepted by you");
  return make(
    "li",
    { "data-member": card.id, "data-up": String(isMe || (running && link?.connected === true)) },
    make("span", { class: "name", text: card.name }),
    make("span", { class: "state", text: [state, ...notes].filter(Boolean).join(", ") }),
    make("code", { class: "id", title: card.id, text: card.id.slice(0, 16) }),
  );
}

function describeLink(link, running) {
  if (!running || !link) return "";
  if (link.connected) return "connected";
  const seconds = link.heard;
  if (seconds === null || seconds === undefined) return "not connected";
  for (const [unit, size] of UNITS) {
    if (seconds >= 2 * size)
      return `not connected, heard ${Math.round(seconds / size)} ${unit} ago`;
  }
  return "not connected";
}

// Lists that not all have signed, and what this operator can do about them.
export function makeProposals({ proposals, members }, pending, look) {
  const byName = (name) => members.find(({ card }) => card.name === name);
  return proposals.map(({ joins, leaves, signed, awaited }) => {
    const what = [
      joins.length ? `with ${join(joins)}` : "",
      leaves.length ? `without ${join(leaves)}` : "",
    ].filter(Boolean);
    const unknown = joins.map(byName).filter((one) => one && !one.is_accepted);
    const decided = new Set(pending.flatMap((one) => one.members ?? []));
    const waits = awaited.length ? ` It waits for ${joinFirst(awaited)}.` : "";
    const buttons = unknown.map(({ card }) =>
      decided.has(card.id)
        ? make("p", { class: "decided", text: `You accepted ${card.name}: it waits for the peer.` })
        : makeAccept(card, look),
    );
    return make(
      "article",
      { class: "waiting proposal" },
      make("h3", { text: `A list of members ${what.join(" and ")}` }),
      make("p", { class: "sub", text: `Signed by ${joinFirst(signed) || "nobody"}.${waits}` }),
      make("div", { class: "buttons" }, ...buttons),
    );
  });
}

function makeAccept(card, look) {
  const about = [
    make("p", { text: "Compare this id with the one that its operator told you by other means:" }),
    make("code", { class: "id whole", text: card.id }),
    make("p", {
      text:
        "Once all members have signed the list, its rows may be counted in questions asked from " +
        "then on, and it sees their answers.",
    }),
  ];
  const act = async () => {
    const request = { request: "join", member: card.id };
    tell((await ask("/api/study/requests", { json: request })).sentence);
    await look();
  };
  const title = `Accept ${card.name} as a member?`;
  return key(
    make("button", {
      type: "button",
      class: "primary",
      text: `Accept ${card.name}…`,
      onclick: () => confirm({ title, about, action: "Accept", act }),
    }),
    `join-${card.id}`,
  );
}
