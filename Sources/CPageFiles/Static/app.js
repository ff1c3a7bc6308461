import { h, isUnsaved, mayLeave, unmark } from "./dom.js";
import { Failure } from "./api.js";
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
/** The address of the view that is shown. */
let address;
let timer;
let refreshed = 0;
let state;
let waitsToBeSeen = false;

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

/** Shows the view of the address. `isRefresh`: the same view with newer figures; nothing moves, and figures stay when there are no newer ones. */
async function show({ isRefresh = false, focus = false } = {}) {
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
  try {
    content = await view.render(period, parameters, refresh);
  } catch (error) {
    if (!(error instanceof Failure)) console.error(error);
    problem = error instanceof Failure ? error.message : "This view could not be drawn.";
  }
  if (number !== shown) return;
  refreshed = Date.now();
  if (isLive(view, period)) timer = setTimeout(poll, refreshEvery);
  const box = document.getElementById("content");
  if (problem) return showProblem(box, problem, isRefresh);
  // What is selected or being read further down stays where it is.
  const position = { top: scrollY, focused: box.contains(document.activeElement) ? indexOf(box, document.activeElement) : -1 };
  removeCharts(box);
  box.replaceChildren(...content.flat().filter(Boolean));
  box.removeAttribute("aria-busy");
  if (isRefresh) {
    scrollTo(0, position.top);
    if (position.focused >= 0) focusable(box)[position.focused]?.focus({ preventScroll: true });
  }
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

const focusable = (box) => [...box.querySelectorAll("a, button, input, select, textarea, [tabindex]")];
const indexOf = (box, element) => focusable(box).indexOf(element);

const isLive = (view, period) => view?.live && (period?.isRunning ?? true);

/** Nobody looks at a hidden page: it is read again when it is shown. */
function poll() {
  if (!document.hidden) return refresh();
  if (waitsToBeSeen) return;
  waitsToBeSeen = true;
  document.addEventListener("visibilitychange", () => {
    waitsToBeSeen = false;
    refresh();
  }, { once: true });
}

/** Events tell when there are newer figures or alerts. Without them, or once the browser gives up, the view is read from time to time. */
function followEvents() {
  const events = new EventSource("/api/v1/operator/events");
  events.addEventListener("message", ({ data }) => {
    const isNewer = state !== undefined && state !== data;
    state = data;
    const { view, parameters } = current();
    if (!isNewer || !isLive(view, view?.period ? readPeriod(parameters) : null)) return;
    clearTimeout(timer);
    timer = setTimeout(poll, Math.max(0, refreshed + refreshAfter - Date.now()));
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
    h("div", { class: "controls" }, view.controls?.(parameters, change), period && periodPicker(period, change)));
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

document.getElementById("sign-out").addEventListener("click", async () => {
  if (!mayLeave()) return;
  unmark();
  await fetch("/operator/session", { method: "DELETE" });
  location.assign("/operator");
});

const session = document.getElementById("session");
if (session.dataset.expires) session.textContent = `Signed in until ${time(session.dataset.expires)} UTC`;
await show();
followEvents();
