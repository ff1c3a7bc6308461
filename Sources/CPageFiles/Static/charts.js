import { h } from "./dom.js";
import * as format from "./format.js";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesCount = 8;

/** The colour of a series, by its place. */
export const seriesColour = (index) => style(`--series-${(index % seriesCount) + 1}`);

const shown = { money: (value) => format.money(value.toFixed(9)), milliseconds: format.milliseconds, share: format.share };
const atAxis = { ...shown, money: format.shortMoney, milliseconds: format.shortMilliseconds };

/**
 * Draws figures over time or by name; nothing without Chart.js, because the table beside it has the same figures.
 * `series`: of {label, values}, one value or null for each of `labels`.
 */
export function chart({ type, labels, series, unit, title, stacked = false, horizontal = false }) {
  if (!globalThis.Chart || labels.length === 0 || series.length === 0) return null;
  const canvas = h("canvas", { role: "img", "aria-label": `${title}. The table has the same figures.` });
  const [show, showAtAxis] = [shown[unit] ?? ((value) => format.count(value)), atAxis[unit] ?? ((value) => format.count(value))];
  const axis = (isValue) => ({
    stacked, beginAtZero: true, border: { display: false },
    grid: { display: isValue, color: style("--line"), drawBorder: false, drawTicks: false },
    ticks: {
      color: style("--muted"), padding: 8, maxRotation: 0, autoSkipPadding: 24, maxTicksLimit: isValue ? 5 : innerWidth < 600 ? 4 : 8,
      ...(isValue ? { callback: (value) => showAtAxis(value), ...(unit ? {} : { precision: 0 }) } : { autoSkip: !horizontal }),
    },
  });
  const isLine = type === "line";
  const datasets = series.map(({ label, values }, index) => ({
    label, data: values, borderColor: seriesColour(index), backgroundColor: seriesColour(index),
    borderWidth: isLine ? 2 : 0, pointRadius: values.map((_, place) => (isAlone(values, place) ? 4 : 0)), pointHoverRadius: 4, pointHitRadius: 12, tension: 0.25,
    borderRadius: isLine || stacked ? 0 : 3, maxBarThickness: horizontal ? 22 : 36,
  }));
  Chart.defaults.font.family = style("--sans");
  Chart.defaults.font.size = 12;
  const box = h("div", { class: "chart" }, canvas);
  new Chart(canvas, {
    type, data: { labels, datasets },
    options: {
      animation: false, responsive: true, maintainAspectRatio: false, indexAxis: horizontal ? "y" : "x",
      interaction: { mode: "index", intersect: false, axis: horizontal ? "y" : "x" },
      scales: { x: axis(horizontal), y: axis(!horizontal) },
      plugins: {
        legend: {
          display: series.length > 1, position: "bottom", align: "start",
          labels: { color: style("--muted"), boxWidth: 10, boxHeight: 10, padding: 16, useBorderRadius: true, borderRadius: 3 },
        },
        tooltip: {
          backgroundColor: style("--raised"), titleColor: style("--ink"), bodyColor: style("--ink"), borderColor: style("--line-strong"),
          borderWidth: 1, padding: 10, cornerRadius: 8, boxPadding: 6, boxWidth: 8, boxHeight: 8, displayColors: series.length > 1,
          callbacks: { label: (item) => ` ${item.dataset.label}: ${item.raw === null ? "–" : show(Number(item.raw))}` },
        },
      },
    },
  });
  return box;
}

/** A line needs two values beside one another. */
const isAlone = (values, place) => [place - 1, place + 1].every((other) => (values[other] ?? null) === null);

/** Frees the charts below an element, before it is replaced. */
export function removeCharts(element) {
  for (const canvas of element.querySelectorAll("canvas")) globalThis.Chart?.getChart(canvas)?.destroy();
}

const dayLength = 86_400_000;
/** Days since the Monday of a day's week; day 4 since 1970 was a Monday. */
const daysSinceMonday = (time) => (Math.floor(time / dayLength) + 3) % 7;

const lengths = { hour: dayLength / 24, day: dayLength, week: 7 * dayLength };

/**
 * The beginnings of the buckets of a query that has rows in some of them: an hour, a day, or a week from Monday, in which nothing happened has its
 * place, too.
 */
export function buckets(rows, { from, to, grain = "day" }) {
  if (rows.length === 0) return [];
  const step = lengths[grain];
  const begin = Date.parse(from) - (grain === "week" ? daysSinceMonday(Date.parse(from)) * dayLength : 0);
  const latest = Math.max(...rows.map((row) => Date.parse(row.day)));
  const end = Math.min(Date.parse(to) + dayLength, Math.max(Date.now(), latest + 1));
  const all = [];
  for (let time = begin; time < end; time += step) all.push(time);
  return all;
}

export const bucketLabels = (times, { grain }) =>
  times.map((time) => (grain === "hour" ? format.shortHour : format.day)(new Date(time).toISOString()));

/** Rows of (day, group, figure) as what `chart` takes: the group with the largest sum first, the smallest ones together. */
export function pivot(rows, { by, y, query, name }) {
  const times = buckets(rows, query);
  const sums = new Map();
  for (const row of rows) sums.set(row[by], (sums.get(row[by]) ?? 0) + Math.abs(Number(row[y] ?? 0)));
  const keys = [...sums.keys()].filter((key) => sums.get(key) > 0).sort((a, b) => sums.get(b) - sums.get(a));
  const most = keys.length > seriesCount ? seriesCount - 1 : seriesCount;
  const [own, rest] = [keys.slice(0, most), new Set(keys.slice(most))];
  const values = (isMember) => times.map((time) => rows.filter((row) => Date.parse(row.day) === time && isMember(row[by]))
    .reduce((sum, row) => sum + Number(row[y] ?? 0), 0));
  const series = own.map((key) => ({ label: name(key), values: values((other) => other === key) }));
  if (rest.size) series.push({ label: `${rest.size} others`, values: values((other) => rest.has(other)) });
  return { labels: bucketLabels(times, query), series };
}
