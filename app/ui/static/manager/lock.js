// What is locked, every entry with what it says; for managers a form to lock and amend.

import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { lines } from "./asking.js";
import { actorName, api, change, facts, figure, get, moment, resting, table } from "./parts.js";
import { reading } from "./reading.js";

const form = $("#lock");
const place = $("#entries");

const list = (texts) => (texts.length ? h("ul", {}, texts.map((text) => h("li", { dir: "auto" }, text))) : h("p", {}, t("none")));

function choices(recipe) {
  const rows = Object.entries(recipe).map(([name, value]) => [name, value === null ? null : typeof value === "object" ? JSON.stringify(value) : String(value)]);
  return h("details", {}, h("summary", {}, t("All options of the recipe")), table(t("All options of the recipe"), [[t("Choice"), (row) => row[0]], [t("Value"), (row) => row[1], "text"]], rows));
}

function entry(one) {
  return h("section", { class: "output" },
    h("h2", {}, one.n === 1 ? t("The lock") : t("Amendment {n}", { n: one.n - 1 }), " · ", moment(one.at)),
    facts([
      [t("Recipe"), one.recipe.name], [t("Registered"), one.before_judgments ? t("before the first judgment") : t("after the first judgment")],
      [t("By"), actorName(one.actor)], [t("Data version"), figure(one.data_version)],
    ]),
    one.reason ? h("p", {}, h("b", {}, t("Reason")), ": ", h("span", { dir: "auto" }, one.reason)) : null,
    h("h3", {}, t("Hypotheses")), list(one.hypotheses),
    h("h3", {}, t("Exclusion rules")), list(one.exclusion_rules),
    h("h3", {}, t("When data collection ends")), h("p", { dir: "auto" }, one.stopping_rule ?? t("not stated")),
    choices(one.recipe),
    h("p", { class: "words" }, h("code", {}, one.hash)));
}

function draw(chain) {
  fill(place,
    chain.preregistered ? h("p", {}, t("This analysis was registered before the first judgment.")) : h("p", { class: "note" }, t("The analysis was locked after the first judgment, so it is not a pre-registration.")),
    chain.intact ? null : h("p", { class: "note" }, t("Warning: an entry was changed after it was sealed.")),
    [...chain.entries].reverse().map(entry),
    h("p", { class: "fetch" }, t("Fetch:"), h("a", { href: `${api}/lock` }, "JSON")));
  if (!form) return;
  const last = chain.entries.at(-1);
  form.elements.hypotheses.value = last.hypotheses.join("\n");
  form.elements.rules.value = last.exclusion_rules.join("\n");
  form.elements.stopping.value = last.stopping_rule ?? "";
  form.elements.reason.required = true;
}

const show = reading(place, async () => {
  const chain = await get(`${api}/lock`, { absent: null });
  if (chain) draw(chain);
  else {
    fill(place, h("p", {}, t("Nothing is locked. Rankings state this.")));
    if (form) $("#change").open = true;
  }
});

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const { recipe, normalize, hypotheses, rules, stopping, reason } = form.elements;
  const body = { hypotheses: lines(hypotheses.value), exclusion_rules: lines(rules.value) };
  const more = { recipe: recipe.value, normalize: normalize.value, stopping_rule: stopping.value.trim(), reason: reason.value.trim() };
  for (const [name, value] of Object.entries(more)) if (value) body[name] = value;
  resting($("button", form), async () => {
    const answer = await change("POST", `${api}/lock`, { body, said: $(".said", form) });
    if (!answer) return;
    reason.value = "";
    recipe.value = "";
    $("#change").open = false;
    draw(answer.body);
    place.scrollIntoView({ block: "nearest" });
  });
});
await show();
