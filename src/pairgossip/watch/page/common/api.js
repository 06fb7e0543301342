// Asking the server; a refusal becomes an error with the server's own sentence.

export async function ask(path, { json, file } = {}) {
  const request = { method: "GET" };
  if (json !== undefined) {
    request.method = "POST";
    request.headers = { "Content-Type": "application/json" };
    request.body = JSON.stringify(json);
  } else if (file !== undefined) {
    request.method = "POST";
    request.headers = { "Content-Type": "application/octet-stream" };
    request.body = file;
  }
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw Object.assign(new Error("The server does not answer: is it still running?"), {
      status: 0,
    });
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const sentence = found.error ?? `The server answered ${answer.status}.`;
    throw Object.assign(new Error(sentence), { status: answer.status, argument: found.argument });
  }
  return found;
}
