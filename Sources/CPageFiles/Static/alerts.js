import { h, card, empty } from "./dom.js";
import { figure, notAvailable } from "./figures.js";
import { table } from "./table.js";

export async function alerts() {
  const answers = await Promise.all(["firing", "resolved"].map((state) => figure("alerts", { state, limit: 100 })));
  if (!answers.every(Boolean)) return [card("Alerts", null, notAvailable())];
  const [firing, resolved] = answers.map(({ data }) => data);
  const only = ["rule", "severity", "value", "threshold", "started_at", "resolved_at"];
  const titles = { started_at: "Since", resolved_at: "Until" };
  return [
    card("Firing", h("a", { href: "/operator/configuration?document=alert-rules" }, "Alert rules"),
      firing.length ? table(firing, { caption: "Firing alerts", only, titles }) : empty("All is well: no alert is firing.")),
    card("Resolved", null, resolved.length ? table(resolved, { caption: "Resolved alerts", only, titles }) : empty("None so far.")),
  ];
}
