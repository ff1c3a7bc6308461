const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const fraction = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const percent = new Intl.NumberFormat("en-US", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const yearFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const hourOfDay = { hour: "2-digit", minute: "2-digit", timeZone: "UTC" };
const hourOfDayFormat = new Intl.DateTimeFormat("en-GB", hourOfDay);
const hourFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...hourOfDay });
const yearHourFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", ...hourOfDay });
const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" };
const timeFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...clock });
const yearTimeFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", ...clock });
const isThisYear = (date) => date.getUTCFullYear() === new Date().getUTCFullYear();

/** Amounts are decimal text with up to nine places: they are added as whole nanodollars, so that no digit is lost. */
export function nanodollars(text) {
  const [, sign, whole, fraction] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const amount = BigInt(whole) * 1_000_000_000n + BigInt((fraction ?? "").padEnd(9, "0"));
  return sign ? -amount : amount;
}

export function moneyText(nano) {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0{1,3}$/, "");
  return `${nano < 0n ? "-" : ""}${digits.slice(0, -9)}.${fraction}`;
}

/** Decimal places at which amounts of this size stay legible. */
export function places(amounts) {
  const largest = Math.max(0, ...amounts.map((text) => Math.abs(Number(text))));
  return largest >= 100 || largest === 0 ? 2 : largest >= 1 ? 3 : largest >= 0.01 ? 4 : 6;
}

export function money(text, decimals = places([text])) {
  return new Intl.NumberFormat("en-US", {
    style: "currency", currency: "USD", minimumFractionDigits: decimals, maximumFractionDigits: decimals,
  }).format(text);
}

/** An amount at a chart's axis, where only its size matters. */
export const shortMoney = (value) =>
  new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumSignificantDigits: 3 }).format(value);

/** `isExact`: with two decimal places, as the others of its column have them. */
export const count = (value, isExact = false) => (isExact ? fraction : number).format(value);
export const share = (value) => percent.format(value);

/** Milliseconds, of which three digits matter; from ten seconds on, seconds. */
export function milliseconds(value) {
  if (value >= 10_000) return `${number.format(Math.round(value / 100) / 10)} s`;
  return `${value >= 100 ? number.format(Math.round(value)) : number.format(Math.round(value * 10) / 10)} ms`;
}

/** A time at a chart's axis. */
export const shortMilliseconds = (value) => (value >= 1000 ? `${number.format(value / 1000)} s` : `${number.format(value)} ms`);

/** The value of a measure of alerts, in the unit that its name ends with. */
export function measured(measure, value) {
  if (measure.endsWith("_usd")) return money(value);
  if (measure.endsWith("_share")) return share(value);
  if (measure.endsWith("_ms")) return milliseconds(value);
  if (measure.endsWith("_seconds")) return milliseconds(1000 * value);
  return measure.endsWith("_growth") ? `× ${number.format(value)}` : number.format(value);
}

/** Writes times of this year with the first format and others with the second one; what is no time stays as it is. */
const written = (format, yearFormat) => (text) => {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : (isThisYear(date) ? format : yearFormat).format(date);
};

/** A day, an hour of a day, and a time with its seconds; always UTC. */
export const day = written(dayFormat, yearFormat);
export const hour = written(hourFormat, yearHourFormat);
export const time = written(timeFormat, yearTimeFormat);

/** An hour at a chart's axis: those of a day follow its first one, which has the day. */
export const shortHour = (text) => (Date.parse(text) % 86_400_000 === 0 ? hour(text) : hourOfDayFormat.format(new Date(text)));

/** A time of today without its day. */
export function shortTime(text) {
  return text.slice(0, 10) === new Date().toISOString().slice(0, 10) ? text.slice(11, 19) : time(text);
}

/** The beginning of a UUID. */
export const shortId = (text) => (text.length > 20 ? `${text.slice(0, 8)}…` : text);

/** `snake_case`, `kebab-case` and `dotted.names` as words. */
export function words(name) {
  const text = name.replaceAll(/[_.-]/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
