// Another campaign like this one; and judgments of another campaign taken over into this one.

import { $, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { checkKey, fillKeyFromName } from "./keys.js";
import { all, api, change, figure, foreign, here, main, resting, table } from "./parts.js";
import { tried } from "./reading.js";

const form = $("#clone");
const carry = $("#carry");
const LONG = 300_000; // milliseconds

async function clone() {
  const { key, name, series, systems } = form.elements;
  const body = { key: key.value.trim(), systems: systems.checked };
  if (name.value.trim()) body.name = name.value.trim();
  if (series.value.trim()) body.series = series.value.trim();
  const answer = await change("POST", `${api}/clone`, { body, said: $(".said", form), timeout: LONG });
  if (answer) location.assign(`/campaigns/${encodeURIComponent(body.key)}/overview?${new URLSearchParams({ copy_of: main.dataset.campaign })}`);
}

function taken({ judgments, raters, left, data_version: version }) {
  const reasons = Object.entries(left);
  return [
    h("p", {}, count(judgments, "{n} judgment was copied.", "{n} judgments were copied."), " ",
      count(raters, "{n} rater is new.", "{n} raters are new."), " ", t("Data version {n}.", { n: figure(version) })),
    reasons.length ? [h("h3", {}, t("Not copied")), table(t("Not copied"), [[t("Why"), (row) => foreign(row[0])], [t("Judgments"), (row) => figure(row[1]), "right"]], reasons)] : null,
    judgments ? h("p", { class: "actions" }, h("a", { class: "button", href: here }, t("See the ranking"))) : null,
  ];
}

if (form) {
  checkKey(form);
  fillKeyFromName(form);
}
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), clone);
});
carry?.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", carry), async () => {
    fill($("#carried"));
    const answer = await change("POST", `${api}/carry-over`, { body: { from: carry.elements.from.value.trim() }, said: $(".said", carry), timeout: LONG });
    if (answer) fill($("#carried"), taken(answer.body));
  });
});
if (carry) {
  await tried(async () => {
    const others = (await all("/v1/campaigns")).filter((one) => one.key !== main.dataset.campaign);
    fill($("#others"), others.map((one) => h("option", { value: one.key }, one.name)));
  }, $(".said", carry));
}
