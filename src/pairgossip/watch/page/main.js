// The frame around the views: which one is shown, light or dark.

import { ask } from "./api.js";
import { alertUser } from "./elements.js";
import { ResultsView } from "./results.js";
import { SimulationView } from "./simulation.js";
import { SwarmView } from "./swarm.js";

const VIEWS = { simulation: SimulationView, swarm: SwarmView, results: ResultsView };
const REMEMBERED = "pairgossip-theme";

function preferred() {
  try {
    const kept = localStorage.getItem(REMEMBERED);
    if (kept === "light" || kept === "dark") return kept;
  } catch {
    // Storage may be forbidden; then nothing is remembered.
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function show(theme) {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("themechange"));
}

function begin() {
  show(preferred());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(preferred()));
  document.getElementById("theme").addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(REMEMBERED, next);
    } catch {
      // As above.
    }
    show(next);
  });
  choose().catch((problem) => alertUser(problem.message));
}

// The server says which views there are; the first one is shown unless the address names another.
async function choose() {
  const { views } = await ask("/api/views");
  const search = new URLSearchParams(location.search);
  const isRun = ["data", "kernel", "loss", "session"].some((field) => search.has(field));
  const asked = search.get("view") ?? (isRun ? "simulation" : "");
  const name = views.some(([key]) => key === asked) ? asked : views[0][0];
  const links = document.getElementById("views");
  for (const [key, title] of views) {
    const link = document.createElement("a");
    link.textContent = title;
    link.href = `/?view=${encodeURIComponent(key)}`;
    if (key === name) link.setAttribute("aria-current", "page");
    links.append(link);
  }
  await new VIEWS[name](document.getElementById("view")).begin();
}

begin();
