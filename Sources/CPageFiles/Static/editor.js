import { call, Failure } from "./api.js";
import { h, askReason, card, field, empty, mayLeave, reasonInput, unmark } from "./dom.js";
import { difference } from "./difference.js";
import { csvButton, figure, isPart, newest, notAvailable, partNote } from "./figures.js";
import { groupName, table } from "./table.js";
import { count, words } from "./format.js";

/** Documents that have no list of their own: one of each kind. */
const single = [["limits", "Tiers and limits"], ["prices", "Prices"], ["alert-rules", "Alert rules"]];

/** The configuration editor; the document is in the address. */
export async function configuration(period, parameters, refresh) {
  const chosen = parameters.get("document") ?? "domain-configs/life_coaching";
  const [domains, document] = await Promise.all([figure("domain-configs"), figure(chosen)]);
  const paths = [...(domains?.data ?? []).map(({ id }) => [`domain-configs/${id}`, `Domain: ${words(id)}`]), ...single];
  const choose = ({ target }) => {
    open(target.value);
    // Of the document that is still shown, when its changes are not to be lost.
    target.value = chosen;
  };
  const picker = h("select", { onchange: choose },
    paths.map(([path, name]) => h("option", { value: path, selected: path === chosen }, name)));
  const choice = h("div", { class: "card" }, h("div", { class: "fields" }, field("Document", picker)));
  if (!document) return [choice, card(words(chosen), null, notAvailable())];
  return [choice, editor(chosen, document, refresh), await versions(chosen, document, refresh)];
}

function open(path) {
  const link = h("a", { href: `/operator/configuration?document=${encodeURIComponent(path)}` });
  document.body.append(link);
  link.click();
  link.remove();
}

/** The page asks before it leaves a form that has been marked. */
const markUnsaved = ({ currentTarget: form }) => form.setAttribute("data-unsaved", "");

const isText = (value) => typeof value === "string";
/** Fields in the order of the shipped files: a stored version has lost it. */
const order = ["name", "description", "tone", "methodology", "system_prompt", "greeting"];
const byOrder = (a, b) => (order.indexOf(a) + 1 || order.length + 1) - (order.indexOf(b) + 1 || order.length + 1);
const size = ([, value]) => JSON.stringify(value).length;

function editor(path, { data, etag }, refresh) {
  const body = data.body;
  // Texts have fields of their own; in JSON nobody can read them.
  const isDomain = path.startsWith("domain-configs/");
  const texts = isDomain ? Object.keys(body).filter((key) => isText(body[key]) && key !== "id").sort(byOrder) : [];
  const others = Object.entries(body).filter(([key]) => !texts.includes(key));
  // The long lists of the router last.
  const rest = Object.fromEntries(isDomain ? others.sort((a, b) => size(a) - size(b)) : others);
  const inputs = new Map(texts.map((key) => [key, h("textarea", { name: key, rows: 1 }, body[key])]));
  const json = h("textarea", { class: "json", name: "json", spellcheck: "false" },
    JSON.stringify(rest, null, 2));
  const reason = reasonInput();
  const result = h("div", { role: "status", class: "stack" });

  /** The edited document, its members in the order of the stored one. */
  function edited() {
    const other = JSON.parse(json.value);
    const own = Object.fromEntries(texts.map((key) => [key, inputs.get(key).value]));
    const known = Object.keys(body).filter((key) => key in own || key in other);
    const added = Object.keys(other).filter((key) => !(key in body));
    return Object.fromEntries([...known, ...added].map((key) => [key, key in own ? own[key] : other[key]]));
  }

  async function send(dryRun) {
    result.replaceChildren();
    let document;
    try {
      document = edited();
    } catch (error) {
      return result.replaceChildren(h("p", { class: "problem" }, `This is not JSON: ${error.message}`));
    }
    try {
      const answer = await call("PUT", path, {
        query: { dry_run: dryRun ? "true" : null }, headers: { "if-match": etag },
        body: { body: document, reason: reason.value || undefined },
      });
      if (!dryRun) {
        unmark();
        return refresh();
      }
      const notice = h("p", { class: "notice" }, "Valid. Nothing is saved yet.");
      result.replaceChildren(...[notice, difference(answer.data.operations, body), decisions(answer.data)].filter(Boolean));
    } catch (error) {
      result.replaceChildren(...problem(error, refresh));
    }
    // The documents are longer than a screen.
    result.scrollIntoView({ block: "nearest" });
  }

  const by = data.version === 1 ? "the shipped file" : `version ${data.version}`;
  const title = h("header", {}, h("h2", {}, words(path.split("/").at(-1))), h("span", { class: "muted" }, by));
  return h("section", { class: "card editor" }, title,
    h("form", { class: "stack", oninput: markUnsaved, onsubmit: (event) => { event.preventDefault(); send(false); } },
      texts.map((key) => field(words(key), inputs.get(key))),
      field(texts.length ? "Everything else, as JSON" : "The document, as JSON", json), field("Reason", reason),
      h("div", { class: "actions" }, h("button", { type: "button", name: "check", onclick: () => send(true) }, "Check and compare"),
        h("button", { class: "primary", name: "save" }, "Save a new version")),
      result));
}

/** Where messages would have gone with the edited document, when the gateway tried it. */
function decisions({ decisions: replay }) {
  if (!replay) return null;
  const { messages, changed, changes } = replay;
  const rows = changes.map(({ from, to, messages }) =>
    ({ was: groupName("domain", from), would_be: groupName("domain", to), messages }));
  return h("div", {}, h("h3", {}, "Routing"), messages === 0
    ? empty("No message was routed within 30 days, so there was nothing to try.")
    : empty(`${typeof changed === "string" ? changed : `About ${count(changed)}`} of the latest ${count(messages)} routed messages would go elsewhere.`),
  rows.length > 0 && table(rows, { caption: "Messages that would go elsewhere" }));
}

/** What is wrong with an edit, by field. */
function problem(error, refresh) {
  if (!(error instanceof Failure)) throw error;
  if (error.status === 412) {
    return [h("p", { class: "problem" }, "Somebody else has saved a version since you opened this one. ",
      h("button", { type: "button", onclick: refresh }, "Show theirs"))];
  }
  if (error.findings.length === 0) return [h("p", { class: "problem" }, error.message)];
  // A message begins with the field, which is named before it.
  const findings = error.findings.map(({ field: name, message }) =>
    h("li", {}, h("code", {}, name.replace(/^body\./, "")), message.replace(`${name} `, "")));
  return [h("p", { class: "problem" }, "Not saved: this is wrong."), h("ul", { class: "findings" }, findings)];
}

async function versions(path, { data, etag }, refresh) {
  const query = { limit: 100 };
  const answer = await figure(`${path}/versions`, query);
  if (!answer) return card("Versions", null, notAvailable());
  const result = h("div", { role: "status", class: "stack" });
  const compare = async (version) => {
    try {
      const [from, patch] = await Promise.all([
        call("GET", `${path}/versions/${version}`), call("GET", `${path}/diff`, { query: { from: version, to: data.version } }),
      ]);
      result.replaceChildren(h("h3", {}, `From version ${version} to ${data.version}`), difference(patch.data.operations, from.data.body));
    } catch (error) {
      result.replaceChildren(...problem(error, refresh));
    }
  };
  const restore = async (version) => {
    if (!mayLeave()) return;
    const reason = askReason(`Make version ${version} the current one again?`);
    if (!reason) return;
    try {
      await call("POST", `${path}/rollback`, { headers: { "if-match": etag }, body: { version, reason } });
      unmark();
      refresh();
    } catch (error) {
      result.replaceChildren(...problem(error, refresh));
    }
  };
  const action = ({ version }) => (version === data.version ? h("span", { class: "muted" }, "current") : h("span", {},
    h("button", { class: "quiet", "aria-label": `Compare version ${version}`, onclick: () => compare(version) }, "Compare"),
    h("button", { class: "quiet", "aria-label": `Restore version ${version}`, onclick: () => restore(version) }, "Restore")));
  if (answer.data.length < 2) return card("Versions", null, empty("Only the shipped file so far."));
  const rows = answer.data.map((row) => (row.author ? row : { ...row, reason: "The shipped file" }));
  const only = ["version", "created_at", "author", "reason", "restores"];
  return card("Versions", csvButton(`${path}/versions`, query, "versions"),
    isPart(answer) && h("p", { class: "remark" }, partNote(newest, rows)), table(rows, { caption: "Versions", only, action }), result);
}
