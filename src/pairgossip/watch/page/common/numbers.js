// How numbers are formatted, and how packed ones are unpacked.

export function formatNumber(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  if (needsPower(value)) {
    const [front, power] = value.toExponential(countDigits(value, digits) - 1).split("e");
    return `${front}·10${superscript(Number(power))}`;
  }
  return Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 8 });
}

function needsPower(value) {
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3;
}

// How many digits of a number are shown: at most three before a power of ten.
function countDigits(value, digits) {
  return needsPower(value) ? Math.min(digits, 3) : digits;
}

// Where a value lies for certain: rounded so that it still does.
export function formatBracket([low, high], digits = 5) {
  const ends = [roundBy(Math.floor, low, digits), roundBy(Math.ceil, high, digits)];
  return ends.map((end) => formatNumber(end, digits)).join(" to ");
}

function roundBy(round, value, digits) {
  if (value === 0) return 0;
  const shown = countDigits(value, digits);
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - shown + 1);
  return round(value / unit) * unit;
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
