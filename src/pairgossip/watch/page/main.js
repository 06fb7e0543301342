// The frame around the views: which one is shown.

import { ask } from "./common/api.js";
import { alertUser, showConnection } from "./common/elements.js";
import { beginTheme } from "./common/theme.js";
import { PeersView } from "./peers/view.js";
import { ResultsView } from "./results/view.js";
import { SimulationView } from "./simulation/view.js";

const VIEWS = { simulation: SimulationView, swarm: PeersView, results: ResultsView };

function begin() {
  document.getElementById("unloaded").remove();
  beginTheme(document.getElementById("theme"));
  if (!window.uPlot) {
    showConnection("disconnected", "not loaded");
    alertUser("The part of the page that draws curves has not loaded: reload the page.");
    return;
  }
  showView().catch((problem) => alertUser(problem.message));
}

// The server says which views there are; the first one is shown unless the address names another.
async function showView() {
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
