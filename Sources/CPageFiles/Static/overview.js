import { h, card, empty } from "./dom.js";
import { figure, figureCard, isPart, notAvailable, asOf, traceLink } from "./figures.js";
import { label, stateOf, table } from "./table.js";
import * as format from "./format.js";
import { range } from "./period.js";

const dayLength = 86_400_000;
/** By which figures are kept. */
const quarter = 900_000;

/** `answer`: the one that the figure is from, whose calls are linked. */
function tile(name, value, note, answer) {
  const calls = traceLink(answer?.meta?.trace, {})?.({});
  calls?.setAttribute("aria-label", `Calls behind ${name}`);
  const remark = note && h("div", { class: "note" }, note, calls);
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value ?? "–", remark));
}

/** Numbers of days whose people are counted once, and the columns of these figures. */
const activity = [[30, "monthly_active_users"], [7, "weekly_active_users"], [1, "active_users"]];

/** People of as much of the period as is counted together, up to its last day, with the calls of these days. */
function peopleTile(usage, period) {
  const last = usage.data.at(-1);
  if (!last) return tile(label("active_users"), format.count(0), "none yet", usage);
  const length = (Date.parse(period.to) - Date.parse(period.from)) / dayLength + 1;
  const [days, key] = activity.find(([days]) => days <= length);
  const calls = usage.meta?.trace && new URL(usage.meta.trace, location.origin);
  const end = Date.parse(last.day) + dayLength;
  calls?.searchParams.set("from", new Date(end - days * dayLength).toISOString());
  calls?.searchParams.set("to", new Date(end).toISOString());
  const note = days === 1 ? format.day(last.day) : `${format.count(last.active_users)} on ${format.day(last.day)}`;
  return tile(label(key), exact(last[key], format.count(last[key])), note, { meta: { trace: calls } });
}

/**
 * The sum of a running period up to now, and as `previous_…` that of as much of the period before: of the same days and times of day. Null when there is
 * none yet, or the period before begins too early.
 */
async function soFar(period) {
  const start = Date.parse(period.from);
  const end = Math.floor(Date.now() / quarter) * quarter;
  const length = Date.parse(period.to) + dayLength - start;
  if (end <= start || start < length) return null;
  const sum = async (shift) => {
    const [from, to] = [start - shift, end - shift].map((time) => new Date(time).toISOString());
    return (await figure("costs", { from, to }))?.data[0];
  };
  const [now, before] = await Promise.all([sum(0), sum(length)]);
  return { ...now, previous_turns: before?.turns, previous_cost_usd: before?.cost_usd };
}

/** The cost of a sum; null when it is not known, because no model of it has a price. */
const costOf = (sum) => sum?.cost_usd ?? (sum?.unpriced_turns > 0 ? null : "0");

/** How a figure changed since the period before; a text that says so without one. */
function change(now, before) {
  if (now === null || before === null || before === undefined || Number(before) === 0) return "no earlier period";
  const ratio = Number(now) / Number(before) - 1;
  return `${ratio >= 0 ? "+" : "−"}${format.share(Math.abs(ratio))} on prior period`;
}

/** The models of a period, of which those without a price are told. */
const modelsLink = ({ from, to }) => h("a", { href: `/operator/costs?${new URLSearchParams({ from, to })}` }, "Models");

const exact = (value, text) => h("data", { value: String(value), title: String(value) }, text);

export async function overview(period) {
  const [costs, part, usage, latency, errors, alerts] = await Promise.all([
    // The period before may begin too early to be compared.
    figure("costs", { ...range(period), compare: period.isRunning ? null : "previous" }).catch(() => figure("costs", range(period))),
    // Without it only the comparison is missing.
    period.isRunning ? soFar(period).catch(() => null) : null,
    figure("usage", range(period)), figure("latency", range(period)), figure("errors", { ...range(period), group_by: "" }),
    figure("alerts", { state: "firing", limit: 100 }),
  ]);
  const sum = costs?.data[0];
  const compared = part ?? sum;
  const cost = costOf(sum);
  const unpriced = sum?.unpriced_turns ?? 0;
  const wait = latency?.data[0];
  // Without an error there is no row. Turns that failed are among the attempts, but not among the turns.
  const failed = errors?.data[0];
  const tiles = h("dl", { class: "tiles" },
    tile("Cost", cost && exact(cost, format.money(cost)), change(costOf(compared), compared?.previous_cost_usd), costs),
    tile("Turns", exact(sum?.turns ?? 0, format.count(sum?.turns ?? 0)), change(compared?.turns ?? 0, compared?.previous_turns), costs),
    usage && peopleTile(usage, period),
    latency && tile("First token, p95", wait?.first_token_p95_ms != null ? format.milliseconds(wait.first_token_p95_ms) : "–",
      wait?.first_token_p50_ms != null ? `half within ${format.milliseconds(wait.first_token_p50_ms)}` : "no answer yet", latency),
    errors && tile("Errors", exact(failed?.errors ?? 0, format.count(failed?.errors ?? 0)),
      failed ? `${format.share(failed.share)} of attempts` : "no attempt failed", errors),
    unpriced > 0 && tile(label("unpriced_turns"), exact(unpriced, format.count(unpriced)), ["missing from the cost", modelsLink(period)]));
  const cards = await Promise.all([
    figureCard({
      title: "Cost by model", route: "costs", totals: true, sort: "cost_usd", only: ["model", "turns", "cost_usd"],
      // One query for both: a turn has one day, so the days of a model can be added.
      query: (p) => ({ ...range(p), group_by: "day,model", grain: p.grain }), sumBy: "model",
      chart: { type: "bar", stacked: true, by: "model", y: "cost_usd", unit: "money" },
    }, period),
    figureCard({
      title: "Messages by domain", route: "domains", sort: "turns", totals: true, only: ["domain", "turns", "cost_usd"],
      titles: { turns: "Messages" },
      query: (p) => ({ ...range(p), group_by: "domain" }), chart: { type: "bar", x: "domain", y: "turns" },
    }, period),
  ]);
  const others = await Promise.all([providerCard(period), auditCard()]);
  return [tiles, alertCard(alerts), h("div", { class: "grid" }, cards), h("div", { class: "grid" }, others)];
}

const severities = ["critical", "warning", "info"];
const mostAlerts = 5;

/** The gravest alerts, of the same severity the newest ones, and how many more there are. */
function alertCard(answer) {
  if (!answer || answer.data.length === 0) return null;
  const alerts = answer.data.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
  const rows = alerts.slice(0, mostAlerts).map(({ rule, severity, measure, value, threshold, started_at: since }) => h("li", {},
    h("span", {}, stateOf(severity), " ", h("strong", {}, format.words(rule)),
      ` ${format.measured(measure, value)}, limit ${format.measured(measure, threshold)}`),
    h("span", { class: "muted" }, "since ", h("time", { datetime: since }, format.shortTime(since)))));
  const more = Math.max(0, alerts.length - mostAlerts);
  const link = more === 0 ? "All alerts" : `All alerts (${isPart(answer) ? "at least " : ""}${format.count(more)} more)`;
  return card("Firing now", h("a", { href: "/operator/alerts" }, link), h("ul", { class: "list" }, rows));
}

async function providerCard(period) {
  const answer = await figure("providers", { ...range(period), group_by: "provider,model" });
  if (!answer) return card("Providers", null, notAvailable());
  return card("Providers", asOf(answer.meta), table(answer.data.sort((a, b) => b.calls - a.calls), {
    caption: "Providers", only: ["provider", "model", "calls", "error_share", "first_token_p95_ms"], titles: { error_share: "Errors" },
    action: traceLink(answer.meta?.trace, { group_by: "provider,model" }), actionLabel: "Rows",
  }));
}

async function auditCard() {
  const answer = await figure("audit", { limit: 6 });
  if (!answer) return card("Latest changes", null, notAvailable());
  if (answer.data.length === 0) return card("Latest changes", null, empty("Nobody has changed anything yet."));
  return card("Latest changes", h("a", { href: "/operator/audit" }, "Audit log"),
    table(answer.data, { caption: "Latest changes", only: ["created_at", "action", "target"] }));
}
