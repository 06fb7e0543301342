// Making elements. Text always goes in as text: names come from files that strangers may have made.

const COPIED = "Copied";

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function option(value, text, chosen) {
  return make("option", { value, text: text ?? value, selected: value === chosen });
}

export function alertUser(sentence) {
  const place = document.getElementById("alert");
  if (place.textContent === (sentence ?? "")) return; // or it would be read aloud again
  place.textContent = sentence ?? "";
  place.hidden = !sentence;
}

export function themeColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

export function prefersReducedMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Whether the page still hears of the server, beside the title.
export function showConnection(state, text) {
  const usual = { disconnected: "disconnected, trying again" }[state] ?? state;
  const pill = document.getElementById("connection");
  pill.dataset.state = state;
  pill.textContent = text ?? usual;
}

// Copy a text, and say so for a moment on the button that was pressed.
export async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    alertUser("This browser does not let the page copy: mark the text and copy it yourself.");
    return;
  }
  const usual = button.textContent;
  if (usual === COPIED) return;
  button.textContent = COPIED;
  setTimeout(() => {
    button.textContent = usual;
  }, 1500);
}
