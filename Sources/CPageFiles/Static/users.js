import { call, Failure } from "./api.js";
import { h, card, field, reasonInput } from "./dom.js";
import { figure } from "./figures.js";
import { label, value } from "./table.js";

/** Finds an account by its id, and changes what operators may change. */
export async function users(period, parameters, refresh) {
  const id = parameters.get("id") ?? "";
  const search = h("form", { class: "fields", action: "/operator/users" },
    field("User id", h("input", {
      name: "id", value: id, required: true, autocomplete: "off", spellcheck: "false", placeholder: "00000000-0000-0000-0000-000000000000",
    })),
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Find")));
  const finder = h("section", { class: "card" }, search);
  if (!id) return [finder];
  let account;
  try {
    account = await figure("users", { id });
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 422) throw error;
    return [finder, h("p", { class: "problem", role: "alert" }, "A user id is a UUID.")];
  }
  if (!account) return [finder, h("p", { class: "problem", role: "alert" }, "There is no such user.")];
  const changes = h("div", { class: "grid" }, suspension(account.data, refresh), entitlement(account.data, refresh));
  return [finder, accountCard(account.data), changes];
}

const names = { created_at: "First seen", spent_today_usd: "Spent today", unpriced_turns_today: "Turns without a price today" };
const kinds = { created_at: "time", suspended_at: "time", access_until: "time", last_turn_at: "time", spent_today_usd: "money" };

function accountCard(account) {
  const shown = Object.entries(account).filter(([, raw]) => raw !== null && !(Array.isArray(raw) && raw.length === 0));
  const cell = (key, raw) => value({ key, kind: kinds[key] ?? (typeof raw === "number" ? "number" : "text") }, raw);
  return card("Account", null, h("dl", { class: "pair" }, shown.flatMap(([key, raw]) =>
    [h("dt", {}, names[key] ?? label(key)), h("dd", {}, key === "id" ? h("span", { class: "code" }, raw) : cell(key, raw))])));
}

/** A form whose button sends one change. */
function changeForm(title, note, controls, button, send, refresh) {
  const result = h("p", { role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await send(new FormData(event.target));
      refresh();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      result.className = "problem";
      result.textContent = error.findings.map(({ message }) => message).join(", ") || error.message;
    }
  };
  const parts = [h("p", { class: "muted" }, note), controls, h("div", { class: "actions" }, button), result];
  return card(title, null, h("form", { class: "stack", onsubmit: submit }, parts));
}

const text = (name, attributes) => h("input", { name, autocomplete: "off", ...attributes });
const reason = () => field("Reason", reasonInput());

function suspension({ id, suspended_at: since }, refresh) {
  const verb = since ? "unsuspend" : "suspend";
  return changeForm(since ? "End the suspension" : "Suspend",
    since ? "All their requests are accepted again." : "All their requests are refused within ten seconds; crisis resources stay open.",
    reason(), since ? h("button", {}, "End the suspension") : h("button", { class: "danger" }, "Suspend"),
    (form) => call("POST", `users/${id}/${verb}`, { body: { reason: form.get("reason") } }), refresh);
}

function entitlement({ id, entitlements }, refresh) {
  const grant = changeForm("Grant an entitlement", "By hand, instead of an earlier grant of the same one.",
    [field("Entitlement", text("entitlement", { required: true, value: "premium" })),
      field("Until (UTC), empty for ever", text("until", { type: "date" })), reason()],
    h("button", { class: "primary" }, "Grant"),
    (form) => call("POST", `users/${id}/grant`, {
      body: {
        entitlement: form.get("entitlement"), reason: form.get("reason"),
        until: form.get("until") ? `${form.get("until")}T00:00:00Z` : undefined,
      },
    }), refresh);
  if (entitlements.length === 0) return grant;
  const options = entitlements.map((name) => h("option", {}, name));
  return h("div", { class: "column" }, grant, changeForm("Revoke an entitlement", "A later purchase or renewal is valid again.",
    [field("Entitlement", h("select", { name: "entitlement" }, options)), reason()],
    h("button", { class: "danger" }, "Revoke"),
    (form) => call("POST", `users/${id}/revoke`, {
      body: { entitlement: form.get("entitlement"), reason: form.get("reason") },
    }), refresh));
}
