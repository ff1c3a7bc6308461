/** The line ended without a last event; the answer goes on at the gateway and can be resumed. */
export class LineCut extends Error {}

/** An answer that is no stream. */
export class Rejected extends Error {
  constructor(status, error) {
    super(error?.user_message ?? error?.message ?? `The gateway answered ${status}.`);
    this.status = status;
    this.error = error;
  }
}

/**
 * Reads a coaching turn: begins it with `body` (`retryOf`: as a new answer to the message of that turn, under `key`), or resumes `turn` after byte
 * `after`.
 * Calls `event(object, cursor)` for each event; `cursor` is the number of bytes of the answer so far. Returns after the last event; throws
 * `LineCut` when there was none.
 */
export async function stream({ token, body, retryOf, key, turn, after = 0, signal, event }) {
  const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
  const path = "/functions/v1/chat-stream";
  const begin = () => fetch(path + (retryOf ? `/${retryOf}/retry` : ""), {
    method: "POST", headers: { ...headers, "content-type": "application/json", ...(key && { "idempotency-key": key }) },
    body: JSON.stringify(body), signal,
  });
  let response;
  try {
    response = await (body ? begin() : fetch(`${path}/${turn}`, { headers: { ...headers, "last-event-id": String(after) }, signal }));
  } catch (error) {
    throw new LineCut(error.message);
  }
  // An expired token is told as an event, too; the caller renews it.
  if (response.status === 401 || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    throw new Rejected(response.status, (await response.json().catch(() => null))?.error);
  }
  let cursor = after;
  for await (const line of lines(response.body)) {
    if (line.startsWith("id: ")) cursor = Number(line.slice(4));
    if (!line.startsWith("data: ")) continue;
    const object = JSON.parse(line.slice(6));
    event(object, cursor);
    if (object.done) return;
  }
  throw new LineCut("the stream ended before its last event");
}

/** The lines of a body; those of server-sent events end with a line feed. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      throw new LineCut(error.message);
    }
    if (part.done) return;
    const pieces = (rest + part.value).split("\n");
    rest = pieces.pop();
    yield* pieces;
  }
}

/** The beginning of a text that has this many bytes in UTF-8. */
export function firstBytes(text, count) {
  return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, count));
}
