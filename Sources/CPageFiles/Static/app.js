import { h, isUnsaved, mayLeave, tell, unmark } from "./dom.js";
import { Failure, failureOf, request } from "./api.js";
import { removeCharts } from "./charts.js";
import { time } from "./format.js";
import { readPeriod, periodPicker } from "./period.js";
import { views } from "./views.js";

/** Between refreshes: at least while events tell of newer figures, and without events. */
const refreshAfter = 5_000;
const refreshEvery = 15_000;
const main = document.getElementById("view");
const side = document.getElementById("side");
const menu = document.getElementById("menu");
let shown = 0;
/** The number of the view that is being read; 0: none is. */
let reading = 0;
/** Whether there are newer figures than those that are being read. */
let isOutdated = false;
/** The address of the view that is shown. */
let address;
let timer;
let refreshed = 0;
let events;
let state;
let isPaused = false;

function current() {
  const name = location.pathname.replace(/^\/operator\/?/, "") || "overview";
  return { view: views.find((view) => view.name === name), parameters: new URLSearchParams(location.search) };
}

/** Draws the navigation; a period stays chosen from view to view. */
function drawNavigation(view, parameters) {
  const kept = new URLSearchParams([...parameters].filter(([key]) => ["days", "from", "to"].includes(key))).toString();
  const groups = [...new Set(views.map(({ group }) => group))].filter(Boolean);
  document.getElementById("navigation").replaceChildren(...groups.map((group) => h("div", {}, h("h2", {}, group),
    h("ul", {}, views.filter((other) => other.group === group).map((other) => h("li", {}, h("a", {
      href: `/operator/${other.name}${kept && other.period ? `?${kept}` : ""}`, "aria-current": other === view ? "page" : null,
    }, other.title)))))));
}

/**
 * Shows the view of the address. `isRefresh`: the same view with newer figures; nothing moves, and figures stay when there are no newer ones.
 * `isPolled`: a refresh that nobody asked for.
 */
async function show({ isRefresh = false, isPolled = false, focus = false } = {}) {
  const number = ++shown;
  clearTimeout(timer);
  address = location.href;
  const { view, parameters } = current();
  const title = view?.title ?? "There is no such view";
  document.title = `${title} – Coach Gateway`;
  main.classList.toggle("wide", Boolean(view?.isWide));
  if (!view) drawNavigation(view, parameters);
  if (!view) return draw(h("h1", {}, title), h("p", {}, h("a", { href: "/operator" }, "Overview")));
  const period = view.period ? readPeriod(parameters) : null;
  if (!isRefresh) {
    drawNavigation(view, parameters);
    toggleMenu(false);
    draw(head(view, period, parameters), h("div", { id: "content", "aria-busy": "true" }, h("p", { class: "empty" }, "Reading …")));
    scrollTo(0, 0);
    if (focus) main.focus({ preventScroll: true });
  }
  let content, problem;
  reading = number;
  isOutdated = false;
  try {
    content = await view.render(period, parameters, refresh);
  } catch (error) {
    if (!(error instanceof Failure)) console.error(error);
    problem = error instanceof Failure ? error.message : "This view could not be drawn.";
  } finally {
    if (reading === number) reading = 0;
  }
  if (number !== shown) return;
  refreshed = Date.now();
  if (isLive()) timer = setTimeout(poll, isOutdated ? refreshAfter : refreshEvery);
  const box = document.getElementById("content");
  if (problem) return showProblem(box, problem, isRefresh);
  if (isPolled && isHeld() && !box.hasAttribute("aria-busy")) return;
  const restorePlace = isRefresh ? placeIn(box) : null;
  removeCharts(box);
  box.replaceChildren(...content.flat().filter(Boolean));
  box.removeAttribute("aria-busy");
  restorePlace?.();
}

/** Tells why there is no view, or, above what a refresh leaves there, why it is not newer. */
function showProblem(box, text, isRefresh) {
  box.removeAttribute("aria-busy");
  const earlier = box.querySelector(":scope > .problem");
  // Said once: it may come again with every refresh.
  if (isRefresh && earlier?.textContent === text) return;
  earlier?.remove();
  const problem = h("p", { class: "problem", role: "alert" }, text);
  if (isRefresh) box.prepend(problem);
  else box.replaceChildren(problem);
}

/** Notes the focus and how far the page and its tables are scrolled; returns what restores them when the view has been drawn again. */
function placeIn(box) {
  const top = scrollY;
  const focused = box.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const scrolled = new Map([...box.querySelectorAll(".scroll")].map((table) => [keyOf(table), [table.scrollLeft, table.scrollTop]]));
  return () => {
    for (const table of box.querySelectorAll(".scroll")) table.scrollTo(...scrolled.get(keyOf(table)) ?? [0, 0]);
    scrollTo(0, top);
    const same = [...box.querySelectorAll("a, button, input, select, textarea, [tabindex]")].filter((element) => keyOf(element) === focused);
    // Rather no focus than that of another control.
    if (focused && same.length === 1) same[0].focus({ preventScroll: true });
  };
}

/** Names an element by its row and its address, label or name. Its place would be another one's when there is a new row above. */
function keyOf(element) {
  const own = ["href", "aria-label", "name"].map((name) => element.getAttribute(name)).find(Boolean);
  return own ? `${element.closest("[data-row]")?.dataset.row ?? ""} ${own}` : null;
}

/** Whether the view that is shown gets newer figures by itself. */
function isLive() {
  const { view, parameters } = current();
  return Boolean(view?.live) && (!view.period || readPeriod(parameters).isRunning);
}

/** Whether the view is not to change under the reader: it is paused, or text in it is selected. */
function isHeld() {
  const selection = getSelection();
  return isPaused || (!selection.isCollapsed && selection.containsNode(main, true));
}

/**
 * Reads a live view again, later while it is held or read: a view that takes long, begun anew meanwhile, would never be shown. Nobody looks at a hidden
 * page: it is read again when it is shown.
 */
function poll() {
  clearTimeout(timer);
  if (document.hidden || !isLive()) return;
  if (reading) isOutdated = true;
  else if (isHeld()) timer = setTimeout(poll, refreshAfter);
  else show({ isRefresh: true, isPolled: true });
}

/**
 * Events tell when there are newer figures or alerts. Without them, or once the browser gives up, the view is read from time to time. A hidden page
 * has no stream of events: browsers open six connections to a gateway for all their tabs (HTTP/1.1).
 */
function followEvents() {
  events?.close();
  if (document.hidden) return;
  events = new EventSource("/api/v1/operator/events");
  events.addEventListener("message", ({ data }) => {
    const isNewer = state !== undefined && state !== data;
    state = data;
    if (!isNewer || !isLive()) return;
    clearTimeout(timer);
    // What is being read may be older.
    if (reading) isOutdated = true;
    else timer = setTimeout(poll, Math.max(0, refreshed + refreshAfter - Date.now()));
  });
}

const refresh = () => show({ isRefresh: true });

function draw(...content) {
  removeCharts(main);
  main.replaceChildren(...content);
}

function head(view, period, parameters) {
  const change = (changes) => {
    const search = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(changes)) value === null ? search.delete(key) : search.set(key, value);
    go(`${location.pathname}?${search}`);
  };
  return h("div", { class: "head" }, h("div", {}, h("h1", {}, view.title), h("p", { class: "lead" }, view.lead)),
    h("div", { class: "controls" }, view.controls?.(parameters, change), period && periodPicker(period, change), isLive() && pauseButton()));
}

function pauseButton() {
  const toggle = ({ target: button }) => {
    isPaused = !isPaused;
    button.setAttribute("aria-pressed", String(isPaused));
    if (!isPaused) refresh();
  };
  return h("button", {
    type: "button", "aria-pressed": String(isPaused), title: "Shows no newer figures by itself", onclick: toggle,
  }, "Pause");
}

function go(address) {
  if (!mayLeave()) return;
  history.pushState(null, "", address);
  show({ focus: true });
}

const pageOf = (address) => address.split("#")[0];

function toggleMenu(isOpen) {
  side.classList.toggle("open", isOpen);
  menu.setAttribute("aria-expanded", String(isOpen));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.download) return;
  if (link.origin !== location.origin || !link.pathname.startsWith("/operator")) return;
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  go(link.href);
});
addEventListener("popstate", () => {
  // A link to a part of the page, such as the one that skips the navigation.
  if (pageOf(location.href) === pageOf(address)) return;
  if (mayLeave()) return show({ focus: true });
  history.pushState(null, "", address);
});
addEventListener("beforeunload", (event) => {
  if (isUnsaved()) event.preventDefault();
});
menu.addEventListener("click", () => toggleMenu(!side.classList.contains("open")));
// Only charts have colours that style sheets do not change.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => main.querySelector("canvas") && refresh());

document.addEventListener("visibilitychange", () => {
  followEvents();
  poll();
});

document.getElementById("sign-out").addEventListener("click", async () => {
  if (!mayLeave()) return;
  try {
    const answer = await request("/operator/session", { method: "DELETE" });
    if (answer.response.status !== 204) throw failureOf(answer);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    toggleMenu(false);
    return tell(`You are still signed in: ${error.message}`);
  }
  unmark();
  location.assign("/operator");
});

const session = document.getElementById("session");
if (session.dataset.expires) session.textContent = `Signed in until ${time(session.dataset.expires)} UTC`;
await show();
followEvents();
