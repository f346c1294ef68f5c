// Leaving something out, after a look at what it does to the ranking; what is left out, and lifting it.

import { $, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { ask } from "./asking.js";
import { beforeAndAfter } from "./before_after.js";
import { Browse } from "./browse.js";
import { each } from "./each.js";
import { actorName, api, badge, brief, change, figure, foreign, resting, some, table, warned } from "./parts.js";
import { tried } from "./reading.js";
import { toast } from "./toast.js";
import { outcome } from "./waiting.js";

const form = $("#exclude");
const place = $("#exclusions");
const shown = $("#effect");
const done = $("button[type=submit]", form);
const said = $(".said", form);
const LONG = 120_000; // milliseconds
const SUGGESTED = 200; // others can be typed
const LISTS = { rater: "raters", system: "systems", document: "documents", task: "tasks" };
const KEYS = { task: "task" };
const WHAT = { rater: t("rater"), system: t("system"), document: t("document"), task: t("task") };
const CHANGES = { reversed: t("the order is reversed"), significance: t("significance"), order: t("order") };

async function offer() {
  const what = form.elements.what.value;
  const found = await some(`${api}/${LISTS[what]}`, SUGGESTED);
  fill($("#known"), found.items.map((one) => h("option", { value: one[KEYS[what] ?? "key"] })));
}

const suggest = () => tried(offer, said);

function stable(one) {
  if (one.srp === null) return foreign(one.why);
  return t("{srp}, with {claims} significant pairs", { srp: figure(one.srp, 2), claims: figure(one.claims, 1) });
}

function effect(body) {
  const n = { before: figure(body.n_ratings_before), after: figure(body.n_ratings_after) };
  return [
    h("h2", {}, t("The effect")),
    h("p", {}, t("{before} ratings before, {after} after.", n), " ",
      h("b", {}, body.order_changed ? t("The order of the systems changes.") : t("The order of the systems does not change."))),
    h("p", {}, body.pairs.length ? count(body.pairs.length, "{n} pair changes.", "{n} pairs change.") : t("No pair changes.")),
    warned(body.warnings),
    beforeAndAfter(body.systems),
    body.pairs.length ? table(t("Pairs that change"), [
      [t("Pair"), (one) => one.pair.join(" / ")], [t("What changes"), (one) => CHANGES[one.change] ?? one.change],
    ], body.pairs) : null,
    table(t("Forecast SRP"), [[t("Forecast SRP"), (row) => row[0]], ["", (row) => row[1], "text"]].map(([head, ...rest]) => [head || t("Value"), ...rest]),
      [[t("Before"), stable(body.stability.before)], [t("After"), stable(body.stability.after)]]),
  ];
}

function asked(query) {
  const { what, key, reason } = form.elements;
  const body = { [what.value]: key.value.trim(), reason: reason.value.trim() };
  return change("POST", `${api}/exclusions${query}`, { body, said, timeout: LONG });
}

let looks = 0;

// Nothing can be excluded before its preview was seen, and what is changed in the form is to be seen again.
async function look() {
  if (!form.reportValidity()) return;
  const mine = (looks += 1);
  const waits = () => mine === looks;
  const answer = await asked(`?${new URLSearchParams({ dry_run: true, recipe: form.elements.recipe.value })}`);
  const body = await outcome(answer, { place: shown, said, waits });
  if (!body || !waits()) return;
  fill(shown, effect(body));
  done.disabled = false;
}

function forget() {
  looks += 1;
  done.disabled = true;
  fill(shown);
}

function lift(rows) {
  const title = rows.length === 1 ? t("Lift the exclusion of {key}", { key: rows[0].key }) : count(rows.length, "Lift {n} exclusion", "Lift {n} exclusions");
  ask(title, t("Why it no longer holds"), t("Lift"), async (reason, wrong) => {
    const query = new URLSearchParams({ reason });
    const { done: lifted, left } = await each(rows, wrong, (one, refused) => change("DELETE", `${api}/exclusions/${one.exclusion}?${query}`, { said: wrong, refused }));
    rows = left;
    if (lifted.length) toast(count(lifted.length, "{n} exclusion is lifted.", "{n} exclusions are lifted."));
    await list.done(left);
    return !left.length;
  });
}

function ending(one) {
  if (one.lifted) return [brief(one.lifted.at), ` ${one.lifted.reason}`];
  return button(t("Lift …"), () => lift([one]), { class: "ghost", "aria-label": t("Lift the exclusion of {key}", { key: one.key }) });
}

const list = new Browse(place, {
  label: t("What is left out"),
  path: `${api}/exclusions`,
  key: (one) => String(one.exclusion),
  called: (one) => `${WHAT[one.what]} ${one.key}`,
  sort: "-made",
  search: t("Search by key, reason or name"),
  filters: [
    { name: "what", label: t("What"), options: [["", t("all")], ...Object.entries(WHAT)] },
    { name: "standing", label: t("State"), options: [["", t("all")], ["true", t("left out")], ["false", t("lifted")]] },
  ],
  prepare: offer,
  columns: [
    { head: t("What"), cell: (one) => `${WHAT[one.what]} ${one.key}` },
    { head: t("State"), cell: (one) => (one.lifted ? badge("none", t("lifted")) : badge("excluded", t("left out"))) },
    { head: t("Reason"), cell: (one) => one.reason, look: "text" },
    { head: t("Since"), sort: "made", cell: (one) => brief(one.at), look: "wide" },
    { head: t("By"), cell: (one) => actorName(one.actor), look: "wide" },
    { head: t("Lifted"), cell: ending, look: "text" },
  ],
  actions: [{ label: t("Lift …"), icon: "undo", run: lift }],
  choosable: (one) => !one.lifted,
  nothing: { icon: "exclude", title: t("Nothing is left out."), text: t("Raters, systems, documents and tasks that you exclude are listed here with the reason. You can lift each exclusion.") },
});

form.elements.what.addEventListener("change", () => {
  form.elements.key.value = "";
  suggest();
});
form.addEventListener("input", forget);
$("[data-look]", form).addEventListener("click", (event) => resting(event.currentTarget, look));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (done.disabled) return;
  resting(done, async () => {
    const { what, key } = form.elements;
    const name = `${WHAT[what.value]} ${key.value.trim()}`;
    if (!(await asked(""))) return;
    toast(t("{name} is left out.", { name }));
    form.reset();
    await Promise.all([list.show(), suggest()]);
  }).then(forget);
});
await list.open();
