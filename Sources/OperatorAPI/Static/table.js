import { h, empty, state } from "./dom.js";
import * as format from "./format.js";

const labels = {
  cost_usd: "Cost", input_tokens: "Input tokens", cached_input_tokens: "of these cached", output_tokens: "Output tokens",
  unpriced_turns: "Turns without a price", persona_id: "Persona", user_id: "User", share: "Share", error_share: "Share of errors",
  mrr_usd: "Monthly recurring", mrr_unpriced: "Recurring, no price", revenue_usd: "Revenue", refunded_usd: "Refunded",
  first_token_p50_ms: "First token p50", first_token_p90_ms: "p90", first_token_p95_ms: "First token p95", first_token_p99_ms: "p99",
  per_token_p50_ms: "Per token p50", per_token_p90_ms: "p90", per_token_p95_ms: "p95", per_token_p99_ms: "p99",
  whole_turn_p50_ms: "Whole turn p50", whole_turn_p90_ms: "p90", whole_turn_p95_ms: "Whole turn p95", whole_turn_p99_ms: "p99",
  time_to_first_token_ms: "First token", duration_ms: "Whole call", actor_id: "By", created_at: "When",
  weekly_active_users: "Active in 7 days",
  monthly_active_users: "in 30 days", active_users: "Active users", before_version: "From", after_version: "To version",
  referrals: "Shown crisis services", replaced: "With replaced sentences", messages_per_conversation: "Messages a conversation",
};
const tones = {
  firing: "bad", open: "bad", critical: "bad", failed: "bad", acute: "bad", half_open: "warn", warning: "warn", concern: "warn",
  interrupted: "warn", resolved: "good", closed: "good", complete: "good", ok: "good",
};

/** Columns of which a missing value is a group of its own. */
const groups = { domain: "General", model: "None", provider: "None", tier: "None", persona_id: "No persona", user_id: "Removed users" };
/** Numbers that count nothing. */
const ordinals = ["version", "tier", "sequence", "before_version", "after_version", "restores", "attempt", "call", "id"];

/** The name of a group; a domain is missing where the router chose none. */
export function groupName(key, raw) {
  return raw === null ? groups[key] : key === "domain" || key === "tier" ? format.words(String(raw)) : String(raw);
}

export const label = (key) => labels[key] ?? format.words(key);

/** How a column is shown, by its name and, for others, its first value. */
function kind(key, rows) {
  if (key.endsWith("_usd")) return "money";
  if (key.endsWith("_ms")) return "milliseconds";
  if (key === "share" || key.endsWith("_share") || key === "confidence") return "share";
  if (key === "day" || key === "cohort") return "day";
  if (key.endsWith("_at")) return "time";
  if (["state", "status", "breaker", "severity"].includes(key)) return "state";
  if (key.endsWith("_id") || key === "id" || key === "author") return "id";
  if (["comment", "reason", "message", "target"].includes(key)) return "long";
  if (ordinals.includes(key)) return "text";
  const first = rows.map((row) => row[key]).find((value) => value !== null && value !== undefined);
  return typeof first === "number" || /^<\d+$/.test(first ?? "") ? "number" : "text";
}

/** The columns of rows, in the order of the gateway: those that any row has a value for. */
export function columns(rows, { hide = [], only, first = [] } = {}) {
  const all = [...new Set([...first, ...rows.flatMap(Object.keys)])];
  const keys = only ?? all.filter((key) => !hide.includes(key) && !key.startsWith("previous_"));
  const used = keys.filter((key) => rows.some((row) => row[key] !== null && row[key] !== undefined));
  return used.map((key) => {
    const column = { key, label: label(key), kind: kind(key, rows) };
    if (column.kind === "money") column.places = format.places(rows.map((row) => row[key] ?? "0"));
    // A row of another list, such as a call, may well be of no persona.
    column.isGroup = rows.some((row) => "turns" in row || "calls" in row) && column.kind !== "id";
    column.isFigure = ["money", "milliseconds", "share", "number"].includes(column.kind);
    return column;
  });
}

/** A value as its cell shows it. The exact value of a figure is in the element `data`. */
export function value(column, raw) {
  if (column.key in groups && column.isGroup) return groupName(column.key, raw);
  if (raw === null || raw === undefined || raw === "") return h("span", { class: "muted" }, column.isFigure ? "–" : "");
  const figure = (text) => h("data", { value: String(raw), title: String(raw) }, text);
  switch (column.kind) {
    case "money": return figure(format.money(raw, column.places));
    case "milliseconds": return figure(format.milliseconds(raw));
    case "share": return figure(format.share(raw));
    case "number": return typeof raw === "number" ? figure(format.count(raw)) : String(raw);
    case "day": return h("time", { datetime: raw }, format.day(raw));
    case "time": return h("time", { datetime: raw }, format.time(raw));
    case "state": return state(format.words(raw), tones[raw]);
    case "id": return h("span", { class: "code", title: raw }, String(raw).length > 20 ? `${raw.slice(0, 8)}…` : raw);
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
 * A table of rows. `caption` is read to people who cannot see it; `totals` adds a last row of sums; `action` makes a last cell of a row.
 */
export function table(rows, { caption, totals = false, action, actionLabel = "Actions", ...choice }) {
  if (rows.length === 0) return empty("Nothing in this period.");
  const shown = columns(rows, choice);
  const cell = (column, row, index) => {
    const name = column.isFigure ? "figure" : column.kind === "long" ? "long" : null;
    return h(index === 0 && !column.isFigure ? "th" : "td", { class: name, ...(index === 0 && !column.isFigure ? { scope: "row" } : {}) },
      value(column, row[column.key]));
  };
  const head = shown.map((column) => h("th", { scope: "col", class: column.isFigure ? "figure" : null }, column.label));
  const body = rows.map((row) =>
    h("tr", {}, shown.map((column, index) => cell(column, row, index)), action && h("td", { class: "action" }, action(row))));
  const sums = totals && rows.length > 1 && h("tfoot", {}, h("tr", {}, shown.map((column, index) => {
    if (index === 0 && !column.isFigure) return h("th", { scope: "row" }, "Total");
    const sum = column.isFigure ? total(column, rows) : null;
    return h("td", { class: "figure" }, sum === null ? "" : value(column, sum));
  }), action && h("td", {})));
  const element = h("table", {}, h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, head, action && h("th", { scope: "col" }, h("span", { class: "hidden" }, actionLabel)))),
    h("tbody", {}, body), sums);
  return h("div", { class: rows.length > 16 ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": caption }, element);
}
