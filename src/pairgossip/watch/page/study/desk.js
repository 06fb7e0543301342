// The operator's first view: waiting, running and answered questions, disclosures, and members.

import { make } from "../common/elements.js";
import { AskForm } from "./ask.js";
import { makeEntry, makeWaiting, tried } from "./entries.js";
import { describeLink, findOpen, makeMembers, makeProposals } from "./members.js";
import { Record } from "./record.js";
import { nothing, Section } from "./section.js";

const isOpen = ({ phase }) => phase !== "done" && phase !== "ended";

export class Desk {
  constructor(look) {
    this.look = look;
    this.problems = make("div", { class: "problems" });
    this.waiting = new Section("waiting", "Waits for you");
    this.running = new Section("running", "Running");
    this.results = new Section("results", "Answered");
    this.ended = new Section("ended", "Ended without an answer");
    this.members = new Section("members", "Members");
    this.ask = new AskForm(look);
    this.record = new Record();
    const parts = [this.waiting, this.running, this.results, this.ask, this.ended];
    const beside = [this.members, this.record];
    this.element = make(
      "div",
      { class: "desk" },
      this.problems,
      make("div", { class: "main" }, ...parts.map((one) => one.element)),
      make("aside", { class: "beside" }, ...beside.map((one) => one.element)),
    );
  }

  update(seen) {
    const { status, questions } = seen;
    this.showProblems(seen);
    this.showWaiting(seen);
    const running = questions.filter((one) => isOpen(one) && !one.needs_operator);
    this.running.show(running, (all) => list(all, "No question runs."), running.length);
    const done = questions.filter(({ phase }) => phase === "done");
    this.results.show(done, (all) => list(all, "No question was answered yet."), done.length);
    const ended = questions.filter(({ phase }) => phase === "ended");
    this.ended.element.hidden = !ended.length;
    this.ended.show(ended, (all) => list(all, ""), ended.length);
    const { id, members, neighbors, proposals } = status;
    const listed = members.filter((one) => one.is_listed).length;
    const heard = Object.entries(neighbors).map(([name, one]) => [name, describeLink(one)]);
    const key = { id, members, proposals, heard, running: seen.running };
    this.members.show(key, () => makeMembers(seen), listed);
    this.ask.update(seen);
    this.record.update(seen.record);
  }

  showWaiting(seen) {
    const { status, questions, pending } = seen;
    const waiting = questions.filter((one) => one.needs_operator);
    const { proposals, members } = status;
    const key = { proposals, members, waiting, pending, tried: waiting.map(tried) };
    const build = () => {
      const lists = makeProposals(status, pending, this.look);
      const all = [...lists, ...waiting.map((one) => makeWaiting(one, pending, this.look))];
      return all.length ? all : [nothing("Nothing waits for you.")];
    };
    this.waiting.show(key, build, waiting.length + findOpen(status).length || null);
  }

  showProblems({ status, running, pending }) {
    const sentences = [...status.problems];
    if (!running) {
      const kept = pending.length ? ` ${pending.length} of your decisions wait for it.` : "";
      sentences.push(`The peer is stopped: start it with pairgossip peer run.${kept}`);
    }
    const key = JSON.stringify(sentences);
    if (key === this.shownProblems) return;
    this.shownProblems = key;
    this.problems.replaceChildren(...sentences.map((text) => make("p", { class: "alert", text })));
  }
}

function list(questions, empty) {
  if (!questions.length) return [nothing(empty)];
  return [make("ul", { class: "entries" }, ...questions.map(makeEntry))];
}
