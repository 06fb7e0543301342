// Members, and those who are to be members. Names come from others: they only ever go in as text.

import { ask } from "../common/api.js";
import { make } from "../common/elements.js";
import { join, joinFirst } from "../common/names.js";
import { confirm, tell } from "./confirm.js";
import { nothing } from "./section.js";

const UNITS = [
  ["days", 86400],
  ["hours", 3600],
  ["minutes", 60],
];

export function makeMembers({ status, running }) {
  const { id, members, neighbors } = status;
  if (!members.length) return [nothing("No list of members yet: invite others, and join.")];
  const notesOf = (one) => describeNotes(one, status.leavers);
  const isTroubled = (one) => isAway(one, id, neighbors, running) || notesOf(one).length > 0;
  const [first, rest] = [members.filter(isTroubled), members.filter((one) => !isTroubled(one))];
  const rows = [...first, ...rest].map((one) => makeMember(one, notesOf(one), status, running));
  const notes = describeProposals(status).map((text) => make("p", { class: "hint", text }));
  return [make("ul", { class: "members" }, ...rows), ...notes];
}

// Whether nothing is heard of a member; unknown while this peer does not run.
function isAway({ card }, id, neighbors, running) {
  const link = neighbors[card.name];
  return running && card.id !== id && link?.connected === false;
}

function describeNotes({ card, is_listed: isListed, is_accepted: isAccepted }, leavers) {
  const notes = [];
  if (!isListed) notes.push("not on the list");
  else if (leavers.includes(card.name)) notes.push("has asked to leave");
  if (!isAccepted) notes.push("not accepted by you");
  return notes;
}

function makeMember({ card }, notes, { id, neighbors }, running) {
  const link = neighbors[card.name];
  const isMe = card.id === id;
  const state = isMe ? "this peer" : running && link ? describeLink(link) : "";
  return make(
    "li",
    { "data-member": card.id, "data-up": String(running && (isMe || link?.connected === true)) },
    make("span", { class: "name", text: card.name }),
    make("span", { class: "state", text: [state, ...notes].filter(Boolean).join(", ") }),
    make("code", { class: "id", title: card.id, text: card.id.slice(0, 16) }),
  );
}

export function describeLink(link) {
  if (link.connected) return "connected";
  const seconds = link.heard;
  if (seconds === null || seconds === undefined) return "not connected";
  for (const [unit, size] of UNITS) {
    if (seconds >= 2 * size)
      return `not connected, heard ${Math.round(seconds / size)} ${unit} ago`;
  }
  return "not connected";
}

// Lists that not all have signed, of which this operator has something to say.
export function makeProposals(status, pending, look) {
  const decided = new Set(pending.flatMap((one) => one.members ?? []));
  return findOpen(status).map(({ proposal, newcomers, leavers }) => {
    const buttons = [
      ...newcomers.map(({ card }) => makeDecision(card, joining(card), decided, look)),
      ...leavers.map(({ card }) => makeDecision(card, leaving(card), decided, look)),
    ];
    return make(
      "article",
      { class: "waiting proposal" },
      make("h3", { text: nameList(proposal) }),
      make("p", { class: "sub", text: `Signed by ${joinFirst(proposal.signed) || "nobody"}.` }),
      make("div", { class: "buttons" }, ...buttons),
    );
  });
}

// Those that wait for others alone.
function describeProposals(status) {
  const open = new Set(findOpen(status).map(({ proposal }) => proposal));
  return status.proposals
    .filter((one) => !open.has(one))
    .map((one) => `${nameList(one)} waits for ${joinFirst(one.awaited) || "nobody"}.`);
}

export function findOpen({ name, proposals, members }) {
  return proposals
    .map((proposal) => {
      const { joins, leaves, awaited } = proposal;
      const newcomers = members.filter((one) => !one.is_accepted && joins.includes(one.card.name));
      const isAwaited = awaited.includes(name);
      const leavers = members.filter(
        (one) => isAwaited && one.is_listed && leaves.includes(one.card.name),
      );
      return { proposal, newcomers, leavers };
    })
    .filter(({ newcomers, leavers }) => newcomers.length || leavers.length);
}

function nameList({ joins, leaves }) {
  const changes = [
    joins.length ? `with ${join(joins)}` : "",
    leaves.length ? `without ${join(leaves)}` : "",
  ];
  return `A list of members ${changes.filter(Boolean).join(" and ")}`;
}

function joining(card) {
  return {
    request: "join",
    label: `Accept ${card.name}…`,
    title: `Accept ${card.name} as a member?`,
    action: "Accept",
    about: [
      make("p", {
        text: "Compare this id with the one that its operator told you by other means:",
      }),
      make("code", { class: "id whole", text: card.id }),
      make("p", {
        text:
          "Once all members have signed the list, its rows may be counted in questions asked " +
          "from then on, and it sees their answers.",
      }),
    ],
  };
}

function leaving(card) {
  return {
    request: "evict",
    label: `Go on without ${card.name}…`,
    title: `Go on without ${card.name}?`,
    action: "Go on without it",
    isGrave: true,
    about: [
      make("code", { class: "id whole", text: card.id }),
      make("p", {
        text:
          "The list exists once all others have signed it. Questions that wait for this member " +
          "then end; tables with its rows stay as they are. Rows that were counted together with " +
          "its rows are counted in no further column. This cannot be undone.",
      }),
    ],
  };
}

function makeDecision(card, { request, label, ...asked }, decided, look) {
  if (decided.has(card.id)) {
    const text = `What you decided about ${card.name} waits for the peer.`;
    return make("p", { class: "decided", text });
  }
  const act = async () => {
    const json = { request, member: card.id };
    tell((await ask("/api/study/requests", { json })).sentence);
    await look();
  };
  return make("button", {
    type: "button",
    "data-key": `${request}-${card.id}`,
    class: asked.isGrave ? "plain" : "primary",
    text: label,
    onclick: () => confirm({ ...asked, act }),
  });
}
