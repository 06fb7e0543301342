// Light or dark: as the system says, until somebody chooses otherwise.

const REMEMBERED = "pairgossip-theme";

function preferredTheme() {
  try {
    const kept = localStorage.getItem(REMEMBERED);
    if (kept === "light" || kept === "dark") return kept;
  } catch {
    // Storage may be forbidden; then nothing is remembered.
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("themechange"));
}

// Follow the system, and let the button choose.
export function beginTheme(button) {
  showTheme(preferredTheme());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    showTheme(preferredTheme()),
  );
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(REMEMBERED, next);
    } catch {
      // As above.
    }
    showTheme(next);
  });
}
