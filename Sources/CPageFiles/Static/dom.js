/** Makes an element. `on…` attributes are listeners, `true` is an attribute without a value, null and false are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A card with a heading; `aside` stands at its right. */
export function card(title, aside, ...children) {
  return h("section", { class: "card" }, h("header", {}, h("h2", {}, title), aside), children);
}

/** An input for why something is changed; the form is not sent without one. */
export const reasonInput = () => h("input", {
  name: "reason", required: true, pattern: ".*\\S.*", maxlength: "1000", autocomplete: "off", placeholder: "Why, for the audit log",
});

/** Asks why something is changed. Null when nothing is to be changed. */
export const askReason = (question) => prompt(`${question} Why, for the audit log:`)?.trim() || null;

const unsaved = () => [...document.querySelectorAll("form[data-unsaved]")];

/** Whether a form has been marked as having what is not saved. */
export const isUnsaved = () => unsaved().length > 0;

/** Whether what was written into a form and not saved may be given up. Asks. */
export const mayLeave = () => !isUnsaved() || confirm("Leave without saving what you changed?");

/** Takes the marks back: what was written is saved, or given up. */
export const unmark = () => unsaved().forEach((form) => delete form.dataset.unsaved);

/** A label around its control. */
export function field(label, control) {
  return h("label", {}, label, control);
}

export const empty = (text) => h("p", { class: "empty" }, text);

/** Says above a view what was not done. It stays when the view is read again, until another view is shown; null takes it back. */
export function tell(text) {
  const view = document.getElementById("view");
  view.querySelector(":scope > .problem")?.remove();
  if (text === null) return;
  view.prepend(h("p", { class: "problem", role: "alert" }, text));
  scrollTo(0, 0);
}

/** A word in its colour. */
export function state(text, tone) {
  return h("span", { class: `state ${tone ?? ""}` }, text);
}
