// HTML that the server has made, put on the page element by element: only elements and attributes
// of results are taken over, and so no style, script or address.

const TEXT =
  "blockquote caption code div figcaption figure h2 h3 p pre span table tbody td th thead tr";
const PICTURE = "circle desc g path polygon polyline rect svg text title tspan line";
const TAGS = new Set([...TEXT.split(" "), ...PICTURE.split(" ")]);
const ATTRIBUTES = new Set(
  (
    "aria-label aria-labelledby class color cx cy d fill fill-opacity font-family font-size " +
    "font-weight height id points r role rx scope stroke stroke-dasharray stroke-linecap " +
    "stroke-linejoin stroke-opacity stroke-width text-anchor transform viewBox width " +
    "x x1 x2 y y1 y2"
  ).split(" "),
);

export function readMarkup(html) {
  // Texts in it have no such quotes; the browser would report styles and handlers as forbidden.
  const plain = html.replaceAll(/ (?:style|on[a-z]+)=(?:"[^"]*"|'[^']*')/g, "");
  const parsed = new DOMParser().parseFromString(plain, "text/html");
  const fragment = document.createDocumentFragment();
  fragment.append(...copyChildren(parsed.body));
  for (const wide of fragment.querySelectorAll(".wide")) wide.tabIndex = 0; // scrolled by keys
  return fragment;
}

function copyChildren(from) {
  return [...from.childNodes].map(copy).filter(Boolean);
}

function copy(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || !TAGS.has(node.localName)) return null;
  const element = document.createElementNS(node.namespaceURI, node.localName);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name) && !/url\(/i.test(value)) element.setAttribute(name, value);
  }
  element.append(...copyChildren(node));
  return element;
}
