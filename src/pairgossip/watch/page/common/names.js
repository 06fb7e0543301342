// Lists of names in sentences.

export function join(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export function joinFirst(names, most = 6) {
  if (names.length <= most) return join(names);
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}
