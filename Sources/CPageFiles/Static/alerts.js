import { h, card, empty } from "./dom.js";
import { csvButton, figure, isPart, newest, notAvailable, partNote } from "./figures.js";
import { table } from "./table.js";

const only = ["rule", "severity", "value", "threshold", "started_at", "resolved_at"];
const titles = { started_at: "Since", resolved_at: "Until" };

/** A card of the newest alerts in a state. `none`: said when there are none; `link`: beside the heading. */
async function alertCard(title, state, none, link) {
  const query = { state, limit: 100 };
  const answer = await figure("alerts", query);
  if (!answer) return card(title, null, notAvailable());
  const { data } = answer;
  const caption = `${title} alerts`;
  const aside = h("span", {}, link, " ", data.length > 0 && csvButton("alerts", query, caption.toLowerCase()));
  return card(title, aside, isPart(answer) && h("p", { class: "remark" }, partNote(newest, data)),
    data.length ? table(data, { caption, only, titles }) : empty(none));
}

export const alerts = () => Promise.all([
  alertCard("Firing", "firing", "All is well: no alert is firing.",
    h("a", { href: "/operator/configuration?document=alert-rules" }, "Alert rules")),
  alertCard("Resolved", "resolved", "None so far."),
]);
