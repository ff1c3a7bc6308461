import { h, card, empty } from "./dom.js";
import { figure, notAvailable, csvButton, grainLengths } from "./figures.js";
import { groupName, label, table } from "./table.js";
import * as format from "./format.js";

/** A card of a long list: a page, and a link to the older rows. `note`: which rows these are. */
async function pages(title, route, query, parameters, { note, ...choice }) {
  const answer = await figure(route, { ...query, limit: 50, cursor: parameters.get("cursor") });
  if (!answer) return [card(title, null, notAvailable())];
  const remark = note && h("p", { class: "remark" }, note);
  if (answer.data.length === 0) return [card(title, null, remark, empty("Nothing here yet."))];
  const link = (text, cursor) => {
    const search = new URLSearchParams(parameters);
    if (cursor) search.set("cursor", cursor);
    else search.delete("cursor");
    return h("a", { class: "button", href: `?${search}` }, text);
  };
  const { has_next: hasNext, next_cursor: cursor } = answer.pagination ?? {};
  return [
    card(title, csvButton(route, { ...query, limit: 100 }, title.toLowerCase()), remark, table(answer.data, { caption: title, ...choice })),
    h("p", { class: "actions" }, parameters.has("cursor") && link("Newest"), hasNext && link("Older", cursor)),
  ];
}

export const audit = (period, parameters) =>
  pages("Audit log", "audit", {}, parameters, {
    only: ["created_at", "action", "target", "before_version", "after_version", "reason", "actor_role", "actor_id", "request_id"],
  });

const callKeys = ["from", "to", "model", "provider", "domain", "persona_id", "user_id", "tier", "error_code", "error"];
const retentionKeys = ["from", "to", "cohort", "week"];
const chosen = (keys, parameters) => Object.fromEntries(keys.map((key) => [key, parameters.get(key)]));

/** A period in words. A day at its end is included; a time at its end is the beginning of the day or hour after it. */
function periodText(from, to) {
  const isDays = [from, to].every((text) => Date.parse(text) % grainLengths.day === 0);
  const last = isDays && to.includes("T") ? new Date(Date.parse(to) - grainLengths.day).toISOString() : to;
  const [first, end] = [from, last].map(isDays ? format.day : format.hour);
  return first === end ? first : `${first} to ${end}`;
}

/** Which calls a list has: their period, and what they share. */
function callsText({ from, to, error_code: code, error, ...groups }) {
  const shared = Object.entries(groups).filter(([, value]) => value !== null).map(([key, value]) => {
    // The others' names say of what they are.
    if (value === "" && !["domain", "tier"].includes(key)) return groupName(key, null);
    return `${label(key)} ${key.endsWith("_id") ? format.shortId(value) : groupName(key, value || null)}`;
  });
  const errors = code ? [code === "*" ? "Ended with an error" : `Ended with ${code}`] : error === "true" ? ["Counted as errors"] : [];
  return [from && to && periodText(from, to), ...shared, ...errors].filter(Boolean).join(" · ");
}

/** The ledger's rows behind a figure: ids, times and counts, no content. */
export const calls = (period, parameters) =>
  pages("Calls", "calls", chosen(callKeys, parameters), parameters, {
    note: callsText(chosen(callKeys, parameters)),
    only: ["started_at", "provider", "model", "domain", "tier", "purpose", "calls", "status", "error_code", "error", "input_tokens",
      "cached_input_tokens", "output_tokens", "cost_usd", "time_to_first_token_ms", "duration_ms", "user_id", "conversation_id", "turn_id"],
  });

/** The users behind a figure of retention, each with a link to its calls of the week. */
export const retentionUsers = (period, parameters) =>
  pages("Users", "usage/retention/users", chosen(retentionKeys, parameters), parameters, {
    note: parameters.has("cohort") && `Began in the week of ${format.day(parameters.get("cohort"))} · Active in week ${parameters.get("week")}`,
    only: ["user_id", "cohort", "week", "days", "active_days", "turns"], action: callsOfUser, actionLabel: "Rows",
  });

function callsOfUser({ cohort, week, user_id: user }) {
  if (!user) return null;
  const [from, to] = [week, week + 1].map((number) => new Date(Date.parse(cohort) + number * grainLengths.week).toISOString());
  return h("a", { href: `/operator/calls?${new URLSearchParams({ user_id: user, from, to })}` }, "Calls");
}
