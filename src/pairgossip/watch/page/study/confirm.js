// A decision is confirmed in a dialog, which stays open, with the reason, where it cannot be.

import { make } from "../common/elements.js";

const LONGEST_REASON = 2000;

// Ask before something is done; `act` promises to do it, given the reason where one is asked.
export function confirm({ title, about, action, asksReason = false, isGrave = false, act }) {
  const opener = document.activeElement?.dataset.key;
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const reason = asksReason ? makeReason() : null;
  const go = make("button", {
    class: isGrave ? "grave" : "primary",
    type: "submit",
    text: action,
  });
  const cancel = make("button", { type: "button", text: "Cancel", onclick: () => dialog.close() });
  const heading = make("h2", { id: "confirm-title", tabIndex: -1, text: title });
  const form = make(
    "form",
    {},
    heading,
    make("div", { class: "about", id: "confirm-about" }, ...about),
    reason?.field,
    problem,
    make("div", { class: "buttons" }, cancel, go),
  );
  const dialog = make("dialog", {
    "aria-labelledby": "confirm-title",
    "aria-describedby": "confirm-about",
    onclose: () => {
      dialog.remove();
      if (document.activeElement === document.body) refocus(opener);
    },
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      await act(reason?.input.value.trim());
      dialog.close();
    } catch (refusal) {
      problem.textContent = refusal.message;
      problem.hidden = false;
      go.disabled = false;
    }
  });
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  (reason?.input ?? heading).focus();
}

// The button that opened a dialog may have been made anew meanwhile, or be gone.
function refocus(key) {
  const opener = key && document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  (opener || document.getElementById("main")).focus();
}

function makeReason() {
  const input = make("textarea", {
    id: "confirm-reason",
    rows: 3,
    required: true,
    maxLength: LONGEST_REASON,
  });
  const label = make("label", { htmlFor: "confirm-reason", text: "Reason" });
  const hint = make("p", { class: "hint", text: "All members can read it, and it is signed." });
  return { input, field: make("div", { class: "field" }, label, input, hint) };
}

// The operator's actions, and their results.
export function tell(sentence) {
  const place = document.getElementById("notice");
  place.textContent = sentence;
  place.hidden = !sentence;
}
