import { get, download, Failure, NotAvailable } from "./api.js";
import { bucketLabels, buckets, chart, pivot } from "./charts.js";
import { h, card, empty } from "./dom.js";
import { columns, groupName, label, table, total } from "./table.js";
import { count, shortId, shortTime } from "./format.js";

/** Reads a figure; null when this gateway does not have it. */
export async function figure(route, query) {
  try {
    return await get(route, query);
  } catch (error) {
    if (error instanceof NotAvailable) return null;
    throw error;
  }
}

export const notAvailable = () => empty("Not available on this gateway.");

/** How a chart calls a value of a grouping column. */
const nameOf = (key) => (by) => (by !== null && key.endsWith("_id") ? shortId(by) : groupName(key, by));

/** A button that saves all pages of a list as CSV, and says when that was not possible. */
export function csvButton(route, query, name) {
  const says = h("span", { class: "muted", role: "status" });
  const save = async ({ target: button }) => {
    button.disabled = true;
    says.textContent = "";
    try {
      if (!(await download(route, query, name))) says.textContent = "Only the first part was saved: choose a shorter period. ";
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      says.textContent = `Not saved: ${error.message} `;
    } finally {
      button.disabled = false;
    }
  };
  return h("span", {}, says, h("button", { class: "quiet", "aria-label": `Save ${name} as CSV`, onclick: save }, "CSV"));
}

/** Columns by the names under which routes group by them. */
const groupColumns = { persona: "persona_id", user: "user_id" };
/** The columns that rows of a query are grouped by. */
const groupsOf = ({ group_by: names = "" }) => names.split(",").filter(Boolean).map((name) => groupColumns[name] ?? name);
/** Parameters of the list of calls by the columns that they do not share a name with. */
const callParameters = { code: "error_code" };
export const grainLengths = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

/** The link from a row to the calls behind it: those of its groups, an empty value for a group without a name, and of its bucket, as far as the
 * period has it. `text`: of the link. */
export function traceLink(trace, { group_by: names, grain = "day" }, text = "Calls") {
  if (!trace) return undefined;
  const groups = groupsOf({ group_by: names }).filter((key) => key !== "day");
  return (row) => {
    const search = new URL(trace, location.origin).searchParams;
    for (const key of groups) if (key in row) search.set(callParameters[key] ?? key, row[key] ?? "");
    if (row.day) {
      const [from, to] = ["from", "to"].map((name) => Date.parse(search.get(name)));
      const start = Date.parse(row.day);
      search.set("from", new Date(Math.max(start, from)).toISOString());
      search.set("to", new Date(Math.min(start + grainLengths[grain], to)).toISOString());
    }
    return h("a", { href: `/operator/calls?${search}` }, text);
  };
}

/** When the figures are from. */
export function asOf(meta) {
  return meta?.as_of ? h("span", { class: "muted" }, "as of ", h("time", { datetime: meta.as_of }, shortTime(meta.as_of)), " UTC") : null;
}

/**
 * One card of a view: a chart, and the table of the same figures.
 * Specification: `title` (or a function of the address's parameters), `route`, `query(period)`, and any of
 * - `chart` (or a function of the parameters): {type, by, y, unit, stacked} over days, {type, keys} for lines, {x, y} for bars by name, of the
 *   largest; `chartQuery(period)`: when it has other rows than the table
 * - `hide`, `only`, `first`: columns; `titles`: of columns, by key; `totals`: a last row of sums; `sumBy`: adds the days of a group
 * - `sort`: a column, largest first; without it, the newest day first
 * - `note`; `part(count)`: names the rows of an answer that has not all
 * - `action(rows, trace, query)`: makes a last cell of a row, by default the link to its calls; `optional`: nothing when the figure is missing here
 */
export async function figureCard({ title: named, chart: image, ...spec }, period, parameters) {
  const [title, wanted] = [named, image].map((value) => (typeof value === "function" ? value(parameters) : value));
  let query = spec.query(period, parameters);
  const chartQuery = spec.chartQuery?.(period, parameters);
  let [answer, drawn] = await Promise.all([figure(spec.route, query), chartQuery && figure(spec.route, chartQuery)]);
  if (!answer) return spec.optional ? null : card(title, null, notAvailable());
  drawn ??= answer;
  if (spec.sumBy && isPart(answer)) {
    // Without some of its days a group has no sum.
    query = { ...query, group_by: spec.sumBy };
    answer = await figure(spec.route, query);
  }
  const rows = spec.sumBy ? sums(answer.data, spec.sumBy) : withoutZeros(answer.data);
  // The largest of a part are not the largest of all.
  if (!isPart(answer)) sort(rows, spec.sort);
  const whole = isPart(answer) && spec.totals ? (await figure(spec.route, { ...query, group_by: "" })).data[0] : null;
  const notes = [spec.note, isPart(answer) ? partNote(spec.part, rows, whole) : wanted && chartNote(wanted, rows, drawn)];
  const chartRows = chartQuery || spec.sumBy ? drawn.data : rows;
  const caption = `${title}${period ? `, ${period.from} to ${period.to}` : ""}`;
  const aside = h("span", {}, asOf(answer.meta), " ", csvButton(spec.route, query, title.toLowerCase()));
  const { hide, only, first, titles } = spec;
  const action = spec.action?.(rows, answer.meta?.trace, query) ?? traceLink(answer.meta?.trace, query);
  return card(title, aside, notes.filter(Boolean).map((note) => h("p", { class: "remark" }, note)),
    wanted && !isPart(answer) && !isPart(drawn) && draw({ titles, title }, wanted, chartRows, chartQuery ?? query),
    table(rows, {
      caption, hide, only, first, titles, grain: query.grain, grouped: groupsOf(query), totals: whole ?? spec.totals, action,
      actionLabel: "Rows", none: period ? undefined : "Nothing here yet.",
    }));
}

/** A copy of rows; none when every figure in them is 0, as on days before the first turn. */
function withoutZeros(rows) {
  const figures = columns(rows).filter((column) => column.isFigure);
  const isZero = (row) => figures.every(({ key }) => Number(row[key] ?? 0) === 0);
  return figures.length > 0 && rows.every(isZero) ? [] : [...rows];
}

/** Whether there are more rows than the answer has. */
export const isPart = (answer) => answer.pagination?.has_next === true;

function sort(rows, key) {
  if (key) rows.sort((a, b) => Number(b[key] ?? 0) - Number(a[key] ?? 0));
  else if (rows.every((row) => row.day)) rows.sort((a, b) => Date.parse(b.day) - Date.parse(a.day));
}

const firstOfAll = (number) => `the first ${number} by name or id, not the largest`;
/** Of a list that begins with the newest. */
export const newest = (number) => `the newest ${number}`;

/** What is said of an answer that has not all rows. */
export function partNote(part = firstOfAll, rows, whole) {
  return `Shown are ${part(count(rows.length))}${whole ? "; the total is of all" : ""}. The CSV file has all.`;
}

function chartNote({ x }, rows, drawn) {
  if (isPart(drawn)) return "Too many rows for a chart.";
  return x && rows.length > mostBars ? `The chart has the ${mostBars} largest.` : null;
}

/** One row for each value of a column: the sums of the others. A cost that is unknown in all rows has none. */
function sums(rows, key) {
  const shown = columns(rows).filter((column) => column.isFigure);
  const sum = (column, own) => (own.some((row) => row[column.key] !== null) ? total(column, own) : null);
  return [...new Set(rows.map((row) => row[key]))].map((value) => {
    const own = rows.filter((row) => row[key] === value);
    return { [key]: value, ...Object.fromEntries(shown.map((column) => [column.key, sum(column, own)])) };
  });
}

const mostBars = 12;

/** `query`: that of the rows. */
function draw(spec, wanted, rows, query) {
  const { by } = wanted;
  const options = { type: wanted.type, unit: wanted.unit, title: spec.title, stacked: wanted.stacked };
  if (wanted.x) {
    const sorted = rows.filter((row) => row[wanted.y] !== null).slice(0, mostBars);
    return chart({
      ...options, horizontal: true, labels: sorted.map((row) => nameOf(wanted.x)(row[wanted.x])),
      series: [{ label: spec.titles?.[wanted.y] ?? label(wanted.y), values: sorted.map((row) => Number(row[wanted.y])) }],
    });
  }
  if (by) return chart({ ...options, ...pivot(rows, { by, y: wanted.y, query, name: nameOf(by) }) });
  const times = buckets(rows, query);
  const at = new Map(rows.map((row) => [Date.parse(row.day), row]));
  const present = columns(rows).map((column) => column.key);
  const keys = wanted.keys.filter((key) => present.includes(key));
  const figures = (key) => times.map((time) => at.get(time)?.[key] ?? null);
  const series = keys.map((key) => ({ label: spec.titles?.[key] ?? label(key), values: figures(key) }));
  return chart({ ...options, labels: bucketLabels(times, query), series });
}
