// Pages with results: tables that sort, filter and copy; charts, whose library is fetched only where there is one.

import { toClipboard } from "./copying.js";
import { main } from "./parts.js";
import { enhanceTables } from "./tables.js";

enhanceTables(main);
for (const button of main.querySelectorAll("[data-copy-from]")) {
  button.addEventListener("click", async () => {
    const answer = await fetch(button.dataset.copyFrom, { credentials: "same-origin" });
    await toClipboard(button, answer.ok ? await answer.text() : null);
  });
}
const charts = main.querySelectorAll("[data-chart]");
if (charts.length) (await import("./charts.js")).drawAll(charts);
main.dataset.ready = "yes";
