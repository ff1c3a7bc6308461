import { stream, firstBytes, LineCut, Rejected } from "./stream.js";

const starters = [
  "I keep putting off a hard talk with my manager. Where do I start?", "How do I get back to running after a long break?",
  "I lie awake and cannot stop thinking about work.",
];
const byID = (id) => document.getElementById(id);
const [talk, composer, message, send, stop, line] = ["talk", "composer", "message", "send", "stop", "line"].map(byID);

/** What outlives a reload: the user, the conversation, and of each turn what was received of it. */
const kept = JSON.parse(localStorage.getItem("coach.try") ?? "null") ?? { user: crypto.randomUUID(), conversation: null, turns: [] };
const keep = () => localStorage.setItem("coach.try", JSON.stringify(kept));
let token;
let cut = null;
let running = null;

function element(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function button(text, action, name = "quiet") {
  const made = element("button", name, text);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

async function authorise() {
  const response = await fetch("/try/token", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ user: kept.user }),
  }).catch((error) => { throw new LineCut(error.message); });
  const answer = await response.json().catch(() => null);
  if (!answer?.data) throw new Rejected(response.status, answer?.error);
  token = answer.data.token;
}

/** Sends a message as a new turn. Its key is kept before it is sent, so that a reload repeats it without a second answer. */
function say(text) {
  kept.turns.push({ key: crypto.randomUUID(), message: text, turn: null, text: "", cursor: 0, state: "running" });
  keep();
  add(kept.turns.at(-1));
  follow(kept.turns.at(-1));
}

/** Reads a turn to its end, however often the line is cut. A token that has expired is renewed once between two events. */
async function follow(turn) {
  let isRenewed = false;
  running = turn;
  showLine();
  for (let attempt = 0; turn.state === "running"; attempt += 1) {
    cut = new AbortController();
    try {
      if (!token) await authorise();
      await stream({
        token, signal: cut.signal, ...(turn.turn ? { turn: turn.turn, after: turn.cursor } : beginning(turn)),
        event: (object, cursor) => {
          attempt = 0;
          isRenewed = false;
          take(turn, object, cursor);
        },
      });
    } catch (error) {
      if (error instanceof Rejected && error.status === 401 && !isRenewed) {
        isRenewed = true;
        token = null;
      } else if (error instanceof LineCut) await pause(turn, attempt);
      else fail(turn, error);
    }
  }
  running = null;
  keep();
  showLine();
  message.focus();
}

/** What begins a turn: a message, or the wish for another answer to the message of an earlier turn. */
function beginning(turn) {
  if (turn.retryOf) return { body: {}, retryOf: turn.retryOf, key: turn.key };
  const conversation = kept.conversation ? { conversation_id: kept.conversation } : {};
  return { body: { message: turn.message, client_message_id: turn.key, ...conversation } };
}

async function pause(turn, attempt) {
  showLine(`The line was cut after ${turn.cursor} bytes. Connecting again …`);
  await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 500 * 2 ** attempt)));
  showLine();
}

function fail(turn, error) {
  turn.state = "failed";
  turn.problem = error.message;
  if (error.error?.details?.safety) turn.safety = error.error.details.safety;
  update(turn);
}

/** One event of the stream. Throws `LineCut` when the turn is to be read again from its first byte. */
function take(turn, object, cursor) {
  let isLost = false;
  switch (object.type) {
    case "start":
      // A turn that failed without text has another attempt under the same id, whose text begins anew.
      if (turn.attempt !== undefined && turn.attempt !== (object.attempt ?? 1)) {
        isLost = turn.cursor > 0;
        Object.assign(turn, { text: "", cursor: 0 });
      }
      Object.assign(turn, { turn: object.turn_id, attempt: object.attempt ?? 1, domain: object.domain });
      if (object.disclosure) turn.disclosure = object.disclosure.text;
      kept.conversation = object.conversation_id;
      break;
    case "safety": turn.safety = object; break;
    case "token":
      turn.text += object.content;
      turn.cursor = cursor;
      break;
    case "usage": turn.usage = object; break;
    case "done": turn.state = object.finish_reason; break;
    case "error":
      turn.state = object.partial ? "interrupted" : "failed";
      turn.problem = object.user_message;
      if (object.kept_bytes !== undefined && object.kept_bytes !== null) turn.text = firstBytes(turn.text, object.kept_bytes);
      break;
  }
  keep();
  update(turn);
  if (!isLost) return;
  // What this stream has more was asked for by the bytes of the earlier attempt.
  cut.abort();
  throw new LineCut("the turn has another attempt");
}

/** Stops the model; what was said is kept. */
async function halt() {
  if (!running?.turn) return;
  const path = `/functions/v1/chat-stream/${running.turn}/stop`;
  const send = () => fetch(path, { method: "POST", headers: { authorization: `Bearer ${token}` } });
  try {
    let response = await send();
    if (response.status === 401) {
      await authorise();
      response = await send();
    }
    if (!response.ok) throw new Rejected(response.status, (await response.json().catch(() => null))?.error);
  } catch (error) {
    if (running) showLine(`Not stopped: ${error.message}`);
  }
}

/** Answers the same message anew, under a new key: the old answer is superseded. A turn that failed without text is sent again, with its key. */
function retry(turn) {
  const again = { key: turn.key, message: turn.message, retryOf: turn.retryOf, turn: null, text: "", cursor: 0, state: "running" };
  if (turn.turn && turn.state !== "failed") Object.assign(again, { key: crypto.randomUUID(), retryOf: turn.turn });
  kept.turns.splice(kept.turns.indexOf(turn), 1, again);
  keep();
  draw();
  follow(again);
}

function care({ severity, message: text, resources }) {
  const ways = ({ phone, sms, url, hours }) => [
    phone && link(`tel:${phone.replace(/[^+\d]/g, "")}`, `Call ${phone}`), sms && element("span", null, `Text ${sms}`),
    url && link(url, new URL(url).host), hours && element("span", "muted", hours),
  ].filter(Boolean);
  const places = resources.map((place) =>
    element("li", null, element("strong", "own-direction", place.name), element("span", "ways", ...ways(place))));
  const title = severity === "acute" ? "You are not alone" : "Help is near";
  const card = element("section", `care ${severity}`, element("h2", null, title), element("p", "own-direction", text), element("ul", null, ...places));
  card.setAttribute("aria-label", "Help");
  return card;
}

function link(href, text) {
  const made = element("a", null, text);
  made.href = href;
  made.rel = "noreferrer";
  return made;
}

const states = { stopped: "stopped", length: "cut at its longest", interrupted: "interrupted", safety: "fixed text" };

function answer(turn) {
  const facts = [turn.domain?.replaceAll("_", " "), turn.usage?.model, turn.usage && `${turn.usage.output_tokens ?? "?"} tokens`,
    turn.usage?.cost_usd && `$${turn.usage.cost_usd}`, states[turn.state]].filter(Boolean);
  const article = element("article", `answer ${turn.state}`, turn.disclosure ? element("p", "disclosure own-direction", turn.disclosure) : null,
    turn.safety ? care(turn.safety) : null, element("div", "text own-direction", turn.text), turn.problem ? element("p", "problem", turn.problem) : null);
  if (turn.state !== "running") {
    const again = turn === kept.turns.at(-1) ? button(turn.problem ? "Try again" : "Answer anew", () => retry(turn)) : null;
    article.append(element("div", "meta", again, ...facts.map((fact) => element("span", null, fact))));
  }
  return article;
}

const parts = (turn) => [element("p", "said own-direction", turn.message), answer(turn)];

function draw() {
  byID("welcome").hidden = kept.turns.length > 0;
  talk.replaceChildren(...kept.turns.flatMap(parts));
  scrollTo(0, document.body.scrollHeight);
}

/** Shows a new turn. Those before it stay, because screen readers read out what is put into a log; only the last one can be answered anew. */
function add(turn) {
  byID("welcome").hidden = true;
  talk.lastElementChild?.querySelector(".meta button")?.remove();
  talk.append(...parts(turn));
  scrollTo(0, document.body.scrollHeight);
}

/** Draws one turn again; the page follows the text only while its end is in sight. */
function update(turn) {
  const place = talk.children[kept.turns.indexOf(turn) * 2 + 1];
  const isAtEnd = innerHeight + scrollY > document.body.scrollHeight - 120;
  const text = place?.querySelector(".text");
  const isDrawn = (name, fact) => Boolean(place.querySelector(name)) === Boolean(fact);
  const isSameFrame = place?.className === `answer ${turn.state}` && isDrawn(".disclosure", turn.disclosure) && isDrawn(".care", turn.safety);
  const isLonger = isSameFrame && turn.state === "running" && turn.text.startsWith(text.textContent);
  if (isLonger) text.append(turn.text.slice(text.textContent.length));
  else if (place) change(place, answer(turn));
  if (isAtEnd) scrollTo(0, document.body.scrollHeight);
}

/** Makes an element like another one; what is the same in both is not moved, so that it is not read out twice. */
function change(old, made) {
  old.className = made.className;
  // A text that arrived in pieces is several nodes.
  old.normalize();
  const nodes = [...made.childNodes];
  nodes.forEach((node, place) => {
    const at = old.childNodes[place];
    if (!at) old.append(node);
    else if (!at.isEqualNode(node)) at.replaceWith(node);
  });
  while (old.childNodes.length > nodes.length) old.lastChild.remove();
}

function showLine(text) {
  stop.hidden = !running;
  send.hidden = Boolean(running);
  byID("anew").disabled = Boolean(running);
  line.replaceChildren(element("span", null, text ?? ""), running && !text ? button("Cut the line", () => cut?.abort()) : "");
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text || running) return;
  message.value = "";
  say(text);
});
message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    composer.requestSubmit();
  }
});
stop.addEventListener("click", halt);
byID("anew").addEventListener("click", () => {
  Object.assign(kept, { conversation: null, turns: [] });
  keep();
  draw();
  message.focus();
});
byID("starters").append(...starters.map((text) => button(text, () => running || say(text), "")));

draw();
showLine();
const last = kept.turns.at(-1);
if (last?.state === "running") follow(last);
