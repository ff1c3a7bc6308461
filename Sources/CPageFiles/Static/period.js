import { h, field } from "./dom.js";

const choices = [["1", "Today"], ["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["", "Dates"]];
const isoDay = (date) => date.toISOString().slice(0, 10);
const daysAgo = (count) => isoDay(new Date(Date.now() - count * 86_400_000));

/** The period in the address: `days=7`, or `from` and `to`, both included, UTC. */
export function readPeriod(parameters) {
  const [from, to] = [parameters.get("from"), parameters.get("to")];
  const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text ?? "");
  if (isDay(from) && isDay(to) && from <= to) return describe(from, to, "");
  const days = choices.some(([value]) => value && value === parameters.get("days")) ? parameters.get("days") : "30";
  return describe(daysAgo(Number(days) - 1), daysAgo(0), days);
}

function describe(from, to, days) {
  const length = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;
  return { from, to, days, grain: length <= 2 ? "hour" : length <= 100 ? "day" : "week", isRunning: to >= daysAgo(0) };
}

/** The period as parameters of a figure, with as many rows as an answer may have: unless asked for more it has 1,000. */
export const range = ({ from, to }) => ({ from, to, limit: 5000 });

/** Buttons and dates; `change` gets the new parameters of the address. */
export function periodPicker(period, change) {
  const [from, to] = [period.from, period.to].map((value) =>
    h("input", { type: "date", value, required: true, min: "1970-01-01", max: "9999-12-31" }));
  const check = () => to.setCustomValidity(from.value > to.value ? "This day is before the first one." : "");
  // Sent when both are whole: a date that is being typed changes with every digit.
  const apply = (event) => {
    event.preventDefault();
    change({ days: null, from: from.value, to: to.value });
  };
  const dates = h("form", { class: "dates", hidden: period.days !== "", oninput: check, onsubmit: apply },
    field("From", from), field("To", to), h("button", {}, "Show"));
  const buttons = choices.map(([value, label]) =>
    h("button", {
      type: "button", "aria-pressed": String(period.days === value),
      onclick: () => (value ? change({ days: value, from: null, to: null }) : change({ days: null, from: period.from, to: period.to })),
    }, label));
  return [h("div", { class: "segments", role: "group", "aria-label": "Period" }, buttons), dates];
}
