// Node's http agent with keep-alive, shared by all workers: the next request leaves in the same tick in which the answer ends.
import http from "node:http";

const [url, tokens, workers, turns, seed] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true });
const words = 6;
const failures = [];
let done = 0;
let state = Number(seed);

/** 0 to 1; the same for the same seed (Park and Miller's generator). */
function random() {
  state = (state * 48271 + 1) % 2147483647;
  return state / 2147483647;
}

function exchange(token, method, path, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", Accept: "text/event-stream" };
  return new Promise((resolve) => {
    const request = http.request(url + path, { method, headers, agent }, (answer) => {
      let text = "";
      answer.on("data", (piece) => (text += piece));
      answer.on("error", (error) => (failures.push(`${method}: ${error.message}`), resolve()));
      answer.on("end", () => resolve({ status: answer.statusCode, text }));
    });
    request.on("error", (error) => (failures.push(`${method}: ${error.message}`), resolve()));
    request.end(body);
  });
}

async function work(token) {
  for (let turn = 0; turn < Math.floor(Number(turns) / Number(workers)); turn++) {
    const script = { words, first_token_ms: 0, pace_ms: Math.round((300 + 1700 * random()) / words) };
    const body = JSON.stringify({ message: `Hello [[sim ${JSON.stringify(script)}]]` });
    const answer = await exchange(token, "POST", "/functions/v1/chat-stream", body);
    done++;
    if (answer && (answer.status !== 200 || !answer.text.includes('"type":"done"'))) {
      failures.push(`turn: ${answer.status} ${answer.text.slice(-200)}`);
    }
    if (turn % 3 !== 2) continue;
    const list = await exchange(token, "GET", "/api/v1/conversations?limit=1");
    if (list && list.status !== 200) failures.push(`list: ${list.status}`);
  }
}

// A user of its own for each worker, for a user has a number of turns a day.
await Promise.all(tokens.split(",").map(work));
agent.destroy();
console.log(JSON.stringify({ turns: done, failures }));
