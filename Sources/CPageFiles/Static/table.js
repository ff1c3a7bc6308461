import { h, empty, state } from "./dom.js";
import * as format from "./format.js";

const labels = {
  cost_usd: "Cost", input_tokens: "Input tokens", cached_input_tokens: "Cached input", output_tokens: "Output tokens",
  unpriced_turns: "Turns without a price", unpriced: "Sales without a price", persona_id: "Persona", user_id: "User", share: "Share",
  error_share: "Share of errors",
  mrr_usd: "Monthly recurring", mrr_unpriced: "Recurring, no price", revenue_usd: "Revenue", refunded_usd: "Refunded",
  time_to_first_token_ms: "First token", duration_ms: "Whole call", error: "Counts as error", actor_id: "By", created_at: "When", message_id: "Answer",
  weekly_active_users: "Active in 7 days", monthly_active_users: "Active in 30 days", active_users: "Active that day",
  threshold: "Limit", jurisdiction: "Country", actor_role: "Role", before_version: "From version", after_version: "To version",
  referrals: "Shown crisis services", replaced: "With replaced sentences", messages_per_conversation: "Messages a conversation",
};
const tones = {
  firing: "bad", open: "bad", critical: "bad", failed: "bad", acute: "bad", half_open: "warn", warning: "warn", concern: "warn",
  interrupted: "warn", resolved: "good", closed: "good", complete: "good", ok: "good",
};

/** Columns of which a missing value is a group of its own. */
const groups = {
  domain: "General", model: "No model", provider: "No provider", tier: "None", persona_id: "No persona", user_id: "No user",
  category: "No category", jurisdiction: "Not known",
};
/** Columns that are there only if they tell something. */
const exceptions = ["unpriced_turns", "unpriced", "mrr_unpriced"];
/** Names of the product's own, shown as words. */
const names = ["domain", "tier", "category", "rule", "reason", "stage", "action", "purpose"];
/** Numbers that count nothing. */
const ordinals = ["version", "sequence", "before_version", "after_version", "restores", "attempt", "call", "id"];

/** The name of a group; a domain is missing where the router chose none. */
export function groupName(key, raw) {
  return raw === null || raw === undefined ? groups[key] : key === "domain" || key === "tier" ? format.words(String(raw)) : String(raw);
}

export const label = (key) => labels[key] ?? format.words(key.replace(/_ms$/, ""));

/** How a column is shown, by its name and, for others, its first value. */
function kind(key, rows, grain) {
  if (key.endsWith("_usd")) return "money";
  if (key.endsWith("_ms")) return "milliseconds";
  if (key === "share" || key.endsWith("_share") || key === "confidence") return "share";
  if (key === "day") return grain === "hour" ? "hour" : "day";
  if (key === "cohort") return "day";
  if (key === "days") return "days";
  if (key.endsWith("_at")) return "time";
  if (["state", "status", "breaker", "severity"].includes(key)) return "state";
  if (key.endsWith("_id") || key === "id" || key === "author") return "id";
  if (["comment", "message", "target"].includes(key) || (key === "reason" && !rows.some((row) => "comment" in row))) return "long";
  if (ordinals.includes(key)) return "text";
  if (names.includes(key)) return "name";
  if (["value", "threshold"].includes(key) && rows.some((row) => row.measure)) return "measured";
  const first = rows.map((row) => row[key]).find((value) => value !== null && value !== undefined);
  if (typeof first === "boolean") return "flag";
  return typeof first === "number" || /^<\d+$/.test(first ?? "") ? "number" : "text";
}

/** The columns of rows, in the order of the gateway: those that any row has a value for, and those that the rows are `grouped` by. `grain`: what
 * `day` begins. */
export function columns(rows, { hide = [], only, first = [], titles = {}, grouped = [], grain } = {}) {
  const all = [...new Set([...first, ...rows.flatMap(Object.keys)])];
  const keys = only ?? all.filter((key) => !hide.includes(key) && !key.startsWith("previous_"));
  const isUsed = (raw, key) => raw !== null && raw !== undefined && raw !== false && !(raw === 0 && exceptions.includes(key));
  const used = keys.filter((key) => grouped.includes(key) || rows.some((row) => isUsed(row[key], key)));
  return used.map((key) => {
    const column = { key, label: titles[key] ?? label(key), kind: kind(key, rows, grain) };
    // Prices of subscriptions have cents; costs of calls are far below.
    if (column.kind === "money") column.places = key === "cost_usd" ? format.places(rows.map((row) => row[key] ?? "0")) : 2;
    if (column.kind === "number") column.isFraction = rows.some((row) => typeof row[key] === "number" && !Number.isInteger(row[key]));
    // A row of another list, such as a call, may well be of no persona.
    column.isGroup = rows.some((row) => "turns" in row || "referrals" in row || ("calls" in row && !("call" in row)));
    column.isFigure = ["money", "milliseconds", "share", "number", "measured"].includes(column.kind);
    return column;
  });
}

/** A state or a severity in its colour. */
export const stateOf = (raw) => state(format.words(raw), tones[raw]);

/** The beginning of an id; a user's leads to the account. */
function idOf(key, id) {
  const text = h("span", { class: "code", title: id }, format.shortId(id));
  return key === "user_id" ? h("a", { href: `/operator/users?${new URLSearchParams({ id })}` }, text) : text;
}

/** A value of a row as its cell shows it. The exact value of a figure is in the element `data`. */
export function value(column, raw, row = {}) {
  const isMissing = raw === null || raw === undefined;
  if (isMissing && column.key in groups && column.isGroup) return groupName(column.key, raw);
  if (isMissing || raw === "") return h("span", { class: "muted" }, column.isFigure ? "–" : "");
  const figure = (text) => h("data", { value: String(raw), title: String(raw) }, text);
  switch (column.kind) {
    case "money": return figure(format.money(raw, column.places));
    case "milliseconds": return figure(format.milliseconds(raw));
    case "share": return figure(format.share(raw));
    case "number": return typeof raw === "number" ? figure(format.count(raw, column.isFraction)) : String(raw);
    case "measured": return figure(format.measured(row.measure, raw));
    case "name": return format.words(String(raw));
    case "flag": return raw ? "Yes" : "";
    case "day": return h("time", { datetime: raw }, format.day(raw));
    case "hour": return h("time", { datetime: raw }, format.hour(raw));
    case "days": return raw.split(" ").map(format.day).join(", ");
    case "time": return h("time", { datetime: raw }, format.time(raw));
    case "state": return stateOf(raw);
    case "id": return idOf(column.key, String(raw));
    default: return Array.isArray(raw) ? raw.join(", ") : typeof raw === "object" ? JSON.stringify(raw) : String(raw);
  }
}

/** The sum of a column; null when it cannot be one. */
export function total(column, rows) {
  const values = rows.map((row) => row[column.key]).filter((raw) => raw !== null && raw !== undefined);
  if (column.kind === "money") return format.moneyText(values.reduce((sum, text) => sum + (format.nanodollars(text) ?? 0n), 0n));
  const isCount = column.kind === "number" && values.every(Number.isInteger);
  return isCount ? values.reduce((sum, figure) => sum + figure, 0) : null;
}

/**
 * A table of rows. `caption` is read to people who cannot see it; `totals` adds a last row: of the sums of the rows, or of what it has itself, when
 * there are more rows than these; `action` makes a last cell of a row; `none`: said without rows.
 */
export function table(rows, { caption, totals = false, action, actionLabel = "Actions", none = "Nothing in this period.", ...choice }) {
  if (rows.length === 0) return empty(none);
  const whole = typeof totals === "object" ? totals : null;
  const shown = columns(whole ? [...rows, whole] : rows, choice);
  const cell = (column, row, index) => {
    const name = column.isFigure ? "figure" : column.kind === "long" ? "long own-direction" : null;
    return h(index === 0 && !column.isFigure ? "th" : "td", { class: name, ...(index === 0 && !column.isFigure ? { scope: "row" } : {}) },
      value(column, row[column.key], row));
  };
  const head = shown.map((column) => h("th", { scope: "col", class: column.isFigure ? "figure" : null }, column.label));
  const body = rows.map((row) =>
    h("tr", { "data-row": row.id }, shown.map((column, index) => cell(column, row, index)),
      action && h("td", { class: "action" }, action(row))));
  const sums = totals && rows.length > 1 && h("tfoot", {}, h("tr", {}, shown.map((column, index) => {
    if (index === 0 && !column.isFigure) return h("th", { scope: "row" }, "Total");
    const sum = column.isFigure ? total(column, rows) : null;
    return h("td", { class: "figure" }, sum === null ? "" : value(column, whole ? whole[column.key] : sum));
  }), action && h("td", { class: "action" })));
  const element = h("table", {}, h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, head, action && h("th", { scope: "col", class: "action" }, h("span", { class: "hidden" }, actionLabel)))),
    h("tbody", {}, body), sums);
  return h("div", { class: rows.length > 16 ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": caption }, element);
}
