// How numbers are formatted, and how packed ones are unpacked.

export function formatNumber(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) {
    const [front, power] = value.toExponential(Math.min(digits, 3) - 1).split("e");
    return `${front}·10${superscript(Number(power))}`;
  }
  return Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 8 });
}

// An answer, and the interval for the population, where there is one: with as many decimals as in
// its result, by the width of the interval (format_ends in text.py).
export function formatValue({ value, interval }) {
  if (value === null || value === undefined) return "";
  if (!interval) return formatNumber(value, 4);
  const error = (interval[1] - interval[0]) / 4;
  const places = error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 3;
  const isPlain = places <= 12 && Math.max(...[value, ...interval].map(Math.abs)) < 1e12;
  const format = (one) => (isPlain ? one.toFixed(places) : formatNumber(one, 4));
  return `${format(value)} (95 %: ${interval.map(format).join(" to ")})`;
}

export function formatCount(value) {
  return Math.round(value).toLocaleString("en-US");
}

export function formatBytes(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${formatNumber(bytes / 1000 ** power, 3)} ${units[power]}`;
}

export function superscript(number) {
  return String(number).replace(
    /[-0-9]/g,
    (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"[sign === "-" ? 0 : 1 + Number(sign)],
  );
}

export function decodeBytes(packed) {
  const text = atob(packed);
  const found = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k += 1) found[k] = text.charCodeAt(k);
  return found;
}

export function decodeWords(packed) {
  return new Uint16Array(decodeBytes(packed).buffer);
}
