import { call, Failure } from "./api.js";
import { overview } from "./overview.js";
import { alerts } from "./alerts.js";
import { audit, calls, retentionUsers } from "./audit.js";
import { configuration } from "./editor.js";
import { users } from "./users.js";
import { h, askReason, card, tell } from "./dom.js";
import { figure, figureCard, grainLengths, newest, notAvailable, traceLink } from "./figures.js";
import { count, day, share, shortId } from "./format.js";
import { range } from "./period.js";

const grouped = (...groups) => (period) => ({ ...range(period), group_by: groups.join(",") });
const byDay = (...groups) => (period) => ({ ...range(period), group_by: ["day", ...groups].join(","), grain: period.grain });

/** What costs are grouped by: the parameter of the route, the column of its rows, and its name. */
const costGroups = [["model", "model", "Model"], ["provider", "provider", "Provider"], ["domain", "domain", "Domain"],
  ["persona", "persona_id", "Persona"], ["tier", "tier", "Tier"], ["user", "user_id", "User"]];
const costGroup = (parameters) => costGroups.find(([name]) => name === parameters.get("by")) ?? costGroups[0];
const isByUser = (parameters) => costGroup(parameters)[0] === "user";
/** The period; of users there may be too many for one answer. */
const costRange = (period, parameters) => (isByUser(parameters) ? { ...range(period), limit: 1000 } : range(period));

/** Makes a view of cards that stand below one another. */
const cards = (...specs) => async (period, parameters) =>
  (await Promise.all(specs.map((spec) => (typeof spec === "function" ? spec(period, parameters) : figureCard(spec, period, parameters)))));

const costs = cards(
  {
    title: (parameters) => `By ${costGroup(parameters)[2].toLowerCase()}`, route: "costs", totals: true, sort: "cost_usd", first: [...costGroups.map(([, key]) => key), "turns", "cost_usd"],
    query: (period, parameters) => ({ ...costRange(period, parameters), group_by: costGroup(parameters)[0] }),
    // Of users there would be too many days.
    chartQuery: (period, parameters) => (isByUser(parameters) ? null : byDay(costGroup(parameters)[0])(period)),
    chart: (parameters) => ({
      type: "bar", y: "cost_usd", unit: "money", ...(isByUser(parameters) ? { x: "user_id" } : { stacked: true, by: costGroup(parameters)[1] }),
    }),
  },
  { title: "Over time", route: "costs", totals: true, first: ["day", "turns", "cost_usd"], query: byDay() });

const usage = cards(
  {
    title: "People and conversations", route: "usage", query: range,
    chart: { type: "line", keys: ["active_users", "weekly_active_users", "monthly_active_users"] },
  },
  retention,
  {
    title: "Errors", route: "errors", query: grouped("code"), sort: "errors", totals: true,
    chartQuery: byDay("code"), chart: { type: "bar", stacked: true, by: "code", y: "errors" },
  });

/** How many of the people who began in a week came back later: a row for each week of beginning. */
async function retention(period) {
  const answer = await figure("usage/retention", range(period));
  if (!answer) return card("People who come back", null, notAvailable());
  // Everybody was there in their first week. A week in which nobody came back has no rows.
  const weeks = Array.from({ length: Math.max(0, ...answer.data.map((row) => row.week)) }, (_, index) => index + 1);
  const cohorts = [...new Set(answer.data.map((row) => row.cohort))].sort();
  const find = (cohort, week) => answer.data.find((row) => row.cohort === cohort && row.week === week);
  const none = (cohort, week) =>
    (Date.parse(cohort) + (week + 1) * grainLengths.week <= Date.now() ? share(0) : h("span", { class: "muted" }, "–"));
  const cell = (cohort, week, text) => {
    const row = find(cohort, week);
    return h("td", { class: "figure" }, row ? usersLink(answer.meta?.trace, row, text(row)) : none(cohort, week));
  };
  const body = cohorts.map((cohort) => h("tr", {}, h("th", { scope: "row" }, h("time", { datetime: cohort }, day(cohort))),
    cell(cohort, 0, (row) => count(row.cohort_users)), weeks.map((week) => cell(cohort, week, (row) => share(row.share)))));
  if (body.length === 0) return card("People who come back", null, h("p", { class: "empty" }, "Nothing in this period."));
  const note = "Of those who began in a week, the share that came back so many weeks later.";
  return card("People who come back", null, h("p", { class: "remark" }, note),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "People who come back" }, h("table", {},
      h("caption", { class: "hidden" }, "People who come back"),
      h("thead", {}, h("tr", {}, ["Week of", "People", ...weeks.map((week) => `Week ${week}`)].map((text, index) =>
        h("th", { scope: "col", class: index ? "figure" : null }, text)))),
      h("tbody", {}, body))));
}

/** A figure of retention as a link to the users that it counts. */
function usersLink(trace, { cohort, week, users }, text) {
  if (!trace) return text;
  const search = new URL(trace, location.origin).searchParams;
  search.set("cohort", cohort);
  search.set("week", week);
  const label = `${text}: ${count(users)} of the week of ${day(cohort)}, ${week} weeks later`;
  return h("a", { href: `/operator/retention?${search}`, "aria-label": label }, h("data", { value: String(users) }, text));
}

const domains = cards({
  title: "Messages by domain", route: "domains", query: grouped("domain"), sort: "turns", totals: true, titles: { turns: "Messages" },
  chart: { type: "bar", stacked: true, by: "domain", y: "turns" }, chartQuery: byDay("domain"),
});

/** Percentiles of latency. */
const percentiles = ["p50", "p90", "p95", "p99"];

const waits = ["turns", ...["first_token", "per_token", "whole_turn"].flatMap((name) => [`${name}_p50_ms`, `${name}_p95_ms`])];

const latency = cards(
  {
    title: "Time to the first token", route: "latency", query: byDay(),
    only: ["day", "turns", ...percentiles.map((name) => `first_token_${name}_ms`)],
    titles: Object.fromEntries(percentiles.map((name) => [`first_token_${name}_ms`, name])),
    chart: { type: "line", unit: "milliseconds", keys: ["first_token_p50_ms", "first_token_p95_ms", "first_token_p99_ms"] },
  },
  {
    title: "By model", route: "latency", query: grouped("provider", "model"), sort: "turns", only: ["model", ...waits],
  },
  { title: "By domain", route: "latency", query: grouped("domain"), sort: "turns", only: ["domain", ...waits] });

const providers = cards(
  {
    title: "Circuit breakers", route: "providers/health", query: () => ({}),
    note: "Of all instances: the worst state, and on how many instances a model is tried after the others.",
  },
  {
    title: "Calls", route: "providers", query: grouped("provider", "model"), sort: "calls", totals: true,
    // The breakers of all models stand in the card above.
    note: "Errors have those that another provider's answer healed.", action: callsAndErrors, hide: ["breaker"],
    chartQuery: byDay("provider"), chart: { type: "bar", stacked: true, by: "provider", y: "calls" },
  });

/** The links of a provider: to its calls, and to those that are errors. */
function callsAndErrors(rows, trace, query) {
  const [all, errors] = [traceLink(trace, query), traceLink(trace && `${trace}&error=true`, query, "Errors")];
  return all && ((row) => [all(row), " ", row.errors > 0 && errors(row)]);
}

const safety = cards(
  {
    title: "Messages that showed danger", route: "safety", query: range,
    note: "Counts alone, without a link to anybody; fewer than five are shown as <5.",
  },
  {
    title: "Yearly report", route: "safety/report", query: ({ to }) => ({ year: to.slice(0, 4) }), optional: true,
    note: "Exact counts of the calendar year.",
  });

const reports = cards({
  title: "Latest reports", route: "reports", query: () => ({ limit: 100 }), action: unpublishing, part: newest,
  only: ["created_at", "reason", "comment", "persona_id", "message_id", "user_id"],
});

/** Personas that this page has taken back: the rows of reports, which are read again, do not tell. */
const unpublished = new Set();

/** For reports of personas: a button that takes the persona back from everybody. */
function unpublishing(rows) {
  if (!rows.some((row) => row.persona_id)) return undefined;
  const unpublish = async (id) => {
    const reason = askReason(`Take persona ${shortId(id)} back from everybody who uses it?`);
    if (!reason) return;
    tell(null);
    try {
      await call("POST", `personas/${id}/unpublish`, { body: { reason } });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return tell(`Persona ${shortId(id)} was not taken back: ${error.message}`);
    }
    unpublished.add(id);
    for (const button of document.querySelectorAll(`[data-persona="${id}"]`)) button.replaceWith("unpublished");
  };
  return ({ persona_id: id }) => id && (unpublished.has(id) ? "unpublished" : h("button", {
    class: "quiet", "data-persona": id, "aria-label": `Unpublish persona ${shortId(id)}`, onclick: () => unpublish(id),
  }, "Unpublish"));
}

const subscriptions = cards({
  title: "Active subscriptions", route: "subscriptions", query: byDay(),
  first: ["day", "active", "trials", "mrr_usd", "revenue_usd", "refunded_usd"],
  chart: { type: "line", keys: ["active", "trials"] },
});

const byPicker = (parameters, change) => {
  const options = costGroups.map(([name, , text]) => h("option", { value: name, selected: name === costGroup(parameters)[0] }, text));
  return h("label", {}, "Group by", h("select", { onchange: (event) => change({ by: event.target.value }) }, options));
};

/** The views in the order of the navigation. `period`: the view has a picker; `live`: it is read again by itself. */
export const views = [
  {
    name: "overview", title: "Overview", group: "Figures", period: true, live: true, render: overview,
    lead: "What the coach did, and what it cost.",
  },
  {
    name: "costs", title: "Costs", group: "Figures", period: true, live: true, controls: byPicker, render: costs,
    lead: "Sums of the ledger, corrections included.",
  },
  {
    name: "usage", title: "Usage", group: "Figures", period: true, live: true, render: usage,
    lead: "Who talks to the coach, and who comes back.",
  },
  {
    name: "domains", title: "Domains", group: "Figures", period: true, live: true, render: domains,
    lead: "What people come for, and how sure the router is.",
  },
  {
    name: "subscriptions", title: "Subscriptions", group: "Figures", period: true, live: true, render: subscriptions,
    lead: "Production purchases of all stores.",
  },
  {
    name: "latency", title: "Latency", group: "Service", period: true, live: true, render: latency,
    lead: "How long people wait. Half of all turns are faster than p50.",
  },
  {
    name: "providers", title: "Providers", group: "Service", period: true, live: true, render: providers,
    lead: "Which models answer, and how often they fail.",
  },
  {
    name: "safety", title: "Safety", group: "Service", period: true, live: true, render: safety,
    lead: "Whether people in danger got help.",
  },
  {
    name: "alerts", title: "Alerts", group: "Service", live: true, render: alerts,
    lead: "What needs somebody now.",
  },
  {
    name: "configuration", title: "Configuration", group: "Manage", render: configuration,
    lead: "Every change is a version with an author; all instances use it within two seconds.",
  },
  {
    name: "users", title: "Users", group: "Manage", render: users,
    lead: "An account's state. Nothing that they wrote is shown here.",
  },
  {
    name: "reports", title: "Reports", group: "Manage", live: true, render: reports,
    lead: "What people reported: personas and answers. No answer is shown here.",
  },
  {
    name: "audit", title: "Audit log", group: "Manage", isWide: true, render: audit,
    lead: "What operators and creators changed, newest first.",
  },
  {
    name: "calls", title: "Calls", group: null, isWide: true, render: calls,
    lead: "The rows of the ledger behind a figure.",
  },
  {
    name: "retention", title: "People of a week", group: null, render: retentionUsers,
    lead: "Who came back, and on which days of the week.",
  },
];
