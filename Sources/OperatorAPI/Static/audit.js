import { h, card, empty } from "./dom.js";
import { figure, notAvailable, csvButton } from "./figures.js";
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

const callKeys = ["from", "to", "model", "provider", "domain", "persona_id", "user_id", "tier", "error_code"];

/** The ledger's rows behind a figure: ids, times and counts, no content. */
export const calls = (period, parameters) =>
  pages("Calls", "calls", Object.fromEntries(callKeys.map((key) => [key, parameters.get(key)])), parameters, {
    only: ["started_at", "provider", "model", "domain", "tier", "purpose", "status", "error_code", "input_tokens", "cached_input_tokens",
      "output_tokens", "cost_usd", "time_to_first_token_ms", "duration_ms", "user_id", "conversation_id", "turn_id"],
  });
