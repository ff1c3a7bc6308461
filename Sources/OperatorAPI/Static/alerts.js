import { h, card, empty } from "./dom.js";
import { figure, notAvailable } from "./figures.js";
import { table } from "./table.js";

export async function alerts() {
  const answer = await figure("alerts", { limit: 100 });
  if (!answer) return [card("Alerts", null, notAvailable())];
  const [firing, resolved] = ["firing", "resolved"].map((state) => answer.data.filter((alert) => alert.state === state));
  const shown = { only: ["rule", "severity", "state", "measure", "value", "threshold", "started_at", "resolved_at"] };
  return [
    card("Firing", null, firing.length ? table(firing, { caption: "Firing alerts", ...shown }) : empty("All is well: no alert is firing.")),
    card("Resolved", null, resolved.length ? table(resolved, { caption: "Resolved alerts", ...shown }) : empty("None so far.")),
    h("p", {}, h("a", { href: "/operator/configuration?document=alert-rules" }, "Edit the alert rules")),
  ];
}
