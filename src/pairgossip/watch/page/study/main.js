// The operator's page of a study: waiting, running and answered questions, and disclosures.

import { ask, useToken } from "../common/api.js";
import { alertUser, showConnection } from "../common/elements.js";
import { beginTheme } from "../common/theme.js";
import { Desk } from "./desk.js";
import { QuestionPage } from "./question.js";

const PAUSE = 1000; // milliseconds between two looks
const REMEMBERED = "pairgossip-token";

// The token is in the part of the address that is sent to nobody, and leaves it at once.
function takeToken() {
  let token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) history.replaceState(null, "", "/");
  try {
    if (token) sessionStorage.setItem(REMEMBERED, token);
    else token = sessionStorage.getItem(REMEMBERED);
  } catch {
    // Storage may be forbidden; then the address is needed again after a reload.
  }
  if (token) useToken(token);
}

class Page {
  constructor() {
    this.place = document.getElementById("main");
    this.desk = new Desk(() => this.look());
    this.seen = null;
    this.looks = 0;
  }

  begin() {
    addEventListener("hashchange", () => this.turn(true));
    this.turn(false);
    this.watch();
  }

  // The address selects the view: the desk, or one question.
  turn(isMove) {
    takeToken();
    const number = Number(location.hash.match(/^#question-(\d+)$/)?.[1]);
    if (location.hash && !number) return; // a link within the page
    this.shown = number ? new QuestionPage(number, () => this.look()) : this.desk;
    this.place.replaceChildren(this.shown.element);
    this.place.hidden = !this.seen;
    if (this.seen) this.shown.update(this.seen);
    if (isMove) {
      scrollTo(0, 0);
      this.place.focus();
    }
  }

  async watch() {
    for (;;) {
      await this.look(); // also behind other tabs, where the title counts waiting questions
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }

  async look() {
    try {
      this.seen = await ask("/api/study");
    } catch (problem) {
      const words = problem.status === 401 ? "refused" : "nothing to show";
      if (problem.status) showConnection("refused", words);
      else showConnection("disconnected");
      alertUser(problem.message);
      return;
    }
    alertUser("");
    this.place.hidden = false;
    this.showTop(this.seen);
    this.shown.update(this.seen);
    this.looks += 1;
    document.body.dataset.looks = String(this.looks);
  }

  showTop({ status, running }) {
    const waiting = status.waiting.length;
    document.title = `${waiting ? `(${waiting}) ` : ""}${status.name}: a study`;
    document.getElementById("who").textContent = status.name;
    const count = status.members.filter((one) => one.is_listed).length;
    document.getElementById("study").textContent = status.study
      ? `study ${status.study.slice(0, 12)}, ${count} members`
      : "on no list of members yet";
    showConnection(
      running ? "connected" : "ended",
      running ? "peer is running" : "peer is stopped",
    );
  }
}

document.getElementById("unloaded").remove();
beginTheme(document.getElementById("theme"));
new Page().begin();
