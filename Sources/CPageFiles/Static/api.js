import { isUnsaved } from "./dom.js";

const root = "/api/v1/operator/";

/** Messages of the gateway are phrases. */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** An error answer: its message, and what is wrong with each field. */
export class Failure extends Error {
  constructor(status, error) {
    super(sentence(error?.message ?? `the gateway answered ${status}`));
    this.status = status;
    this.findings = error?.details?.findings ?? [];
  }
}

/** This gateway does not have the route. */
export class NotAvailable extends Error {}

const signedOut = "Your session has ended. Sign in in another tab, then try again: the forms of this page keep what you wrote.";

/** The whole envelope of an answer. */
export async function call(method, path, { query, body, headers } = {}) {
  const answer = await request(address(path, query), {
    method,
    headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.response.ok) throw failureOf(answer);
  return { ...parsed(answer.text), etag: answer.response.headers.get("etag") };
}

/** Rows of a figure. Throws `NotAvailable` when there is no such route. */
export async function get(path, query) {
  try {
    return await call("GET", path, { query });
  } catch (error) {
    throw error.status === 404 ? new NotAvailable() : error;
  }
}

/** Of a file; a user's requests are limited. */
const mostPages = 200;

/** Saves a list as a file, one page after another by the header `Link`. Returns whether the file has all of it. */
export async function download(path, query, name) {
  const parts = [];
  let next = address(path, query);
  for (let pages = 0; next && pages < mostPages; pages += 1) {
    const { response, text } = await request(next, { headers: { accept: "text/csv" } });
    if (!response.ok) throw failureOf({ response, text });
    // Each page begins with the names of the columns.
    parts.push(pages === 0 ? text : text.slice(text.indexOf("\r\n") + 2));
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
  link.download = `${name}${next ? " (first part)" : ""}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  return !next;
}

/** What a text has as JSON; null when it is none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The failure that an answer of `request` tells. */
export const failureOf = ({ response: { status }, text }) =>
  new Failure(status, status === 401 ? { message: signedOut } : parsed(text)?.error);

function address(path, query) {
  const parameters = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return root + path + (parameters.length ? `?${new URLSearchParams(parameters)}` : "");
}

/** Milliseconds until an answer must be whole. */
const timeLimit = 20_000;

/**
 * An answer and its text. After a 401 a GET reloads the page, which shows the form to sign in. Other methods, and a GET beside an unsaved form,
 * leave it: input is kept.
 */
export async function request(url, options) {
  let response, text;
  try {
    response = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(timeLimit), ...options });
    text = await response.text();
  } catch (error) {
    const late = `The gateway has not answered within ${timeLimit / 1000} seconds.`;
    throw new Failure(0, { message: error.name === "TimeoutError" ? late : "The gateway cannot be reached." });
  }
  if (response.status === 401 && (options.method ?? "GET") === "GET" && !isUnsaved()) location.reload();
  return { response, text };
}
