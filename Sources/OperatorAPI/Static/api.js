const root = "/api/v1/operator/";

/** An error answer: its message, and what is wrong with each field. */
export class Failure extends Error {
  constructor(status, error) {
    super(error?.message ?? `The gateway answered ${status}.`);
    this.status = status;
    this.findings = error?.details?.findings ?? [];
  }
}

/** This gateway does not have the route. */
export class NotAvailable extends Error {}

/** The whole envelope of an answer. Signed out, it opens the form to sign in. */
export async function call(method, path, { query, body, headers } = {}) {
  const response = await request(path, query, {
    method,
    headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const json = await response.json().catch(() => null);
  if (response.ok) return { ...json, etag: response.headers.get("etag") };
  throw new Failure(response.status, json?.error);
}

/** Rows of a figure. Throws `NotAvailable` when there is no such route. */
export async function get(path, query) {
  try {
    return await call("GET", path, { query });
  } catch (error) {
    throw error.status === 404 ? new NotAvailable() : error;
  }
}

/** Saves a figure as a file. */
export async function download(path, query, name) {
  const response = await request(path, query, { headers: { accept: "text/csv" } });
  if (!response.ok) throw new Failure(response.status);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function request(path, query, options) {
  const parameters = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined);
  const search = new URLSearchParams(parameters);
  let response;
  try {
    response = await fetch(root + path + (parameters.length ? `?${search}` : ""), { cache: "no-store", ...options });
  } catch {
    throw new Failure(0, { message: "The gateway cannot be reached." });
  }
  if (response.status === 401) location.assign("/operator");
  return response;
}
