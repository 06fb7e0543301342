// Asking the server; a refusal becomes an error with the server's own sentence.

let token = null;

// Every request from now on shows this token.
export function useToken(given) {
  token = given;
}

export async function ask(path, { json, file } = {}) {
  const answer = await send(path, { json, file });
  return answer.json().catch(() => ({}));
}

// As a file to be saved.
export async function askFile(path) {
  return (await send(path, {})).blob();
}

async function send(path, { json, file }) {
  const request = { method: "GET", headers: {} };
  if (token) request.headers.Authorization = `Bearer ${token}`;
  if (json !== undefined) {
    request.method = "POST";
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(json);
  } else if (file !== undefined) {
    request.method = "POST";
    request.headers["Content-Type"] = "application/octet-stream";
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
  if (answer.ok) return answer;
  const found = await answer.json().catch(() => ({}));
  const sentence = found.error ?? `The server answered ${answer.status}.`;
  throw Object.assign(new Error(sentence), { status: answer.status, argument: found.argument });
}
