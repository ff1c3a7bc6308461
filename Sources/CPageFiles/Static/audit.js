import { h, card, empty } from "./dom.js";
import { figure, notAvailable, csvButton, grainLengths } from "./figures.js";
import { table } from "./table.js";

/** A card of a long list: a page, and a link to the older rows. */
async function pages(title, route, query, parameters, choice) {
  const answer = await figure(route, { ...query, limit: 50, cursor: parameters.get("cursor") });
  if (!answer) return [card(title, null, notAvailable())];
  if (answer.data.length === 0) return [card(title, null, empty("Nothing here yet."))];
  const link = (text, cursor) => {
    const search = new URLSearchParams(parameters);
    if (cursor) search.set("cursor", cursor);
    else search.delete("cursor");
    return h("a", { class: "button", href: `?${search}` }, text);
  };
  const { has_next: hasNext, next_cursor: cursor } = answer.pagination ?? {};
  return [
    card(title, csvButton(route, { ...query, limit: 100 }, title.toLowerCase()), table(answer.data, { caption: title, ...choice })),
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

/** The ledger's rows behind a figure: ids, times and counts, no content. */
export const calls = (period, parameters) =>
  pages("Calls", "calls", chosen(callKeys, parameters), parameters, {
    only: ["started_at", "provider", "model", "domain", "tier", "purpose", "calls", "status", "error_code", "error", "input_tokens",
      "cached_input_tokens", "output_tokens", "cost_usd", "time_to_first_token_ms", "duration_ms", "user_id", "conversation_id", "turn_id"],
  });

/** The users behind a figure of retention, each with a link to its calls of the week. */
export const retentionUsers = (period, parameters) =>
  pages("Users", "usage/retention/users", chosen(retentionKeys, parameters), parameters, {
    only: ["user_id", "cohort", "week", "days", "active_days", "turns"], action: callsOfUser, actionLabel: "Rows",
  });

function callsOfUser({ cohort, week, user_id: user }) {
  if (!user) return null;
  const [from, to] = [week, week + 1].map((number) => new Date(Date.parse(cohort) + number * grainLengths.week).toISOString());
  return h("a", { href: `/operator/calls?${new URLSearchParams({ user_id: user, from, to })}` }, "Calls");
}
