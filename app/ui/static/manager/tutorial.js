// Tutorial documents: what there are, a form to write one, and how raters did.

import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Unfinished } from "./judging.js";
import { Browse } from "./browse.js";
import { checkKey } from "./keys.js";
import { Items } from "./known.js";
import { all, api, brief, change, empty, fetched, figure, get, here, listed, resting, say, sure, table } from "./parts.js";
import { reading, tried } from "./reading.js";

const form = $("#tutorial");
const said = $(".said", form);
const place = $("#documents");
const items = new Items($("#items"), form.dataset, (n) => t("Segment {n}", { n }));
const path = (key) => `${api}/documents/${encodeURIComponent(key)}`;

async function edit(key) {
  const { segments } = await get(path(key));
  form.elements.key.value = key;
  items.set(segments.map(({ source, references, meta }) => ({ ...(meta.tutorial ?? {}), source, rest: { references, meta } })));
  form.scrollIntoView({ block: "nearest" });
  form.elements.key.focus();
}

function remove(one) {
  const end = async () => {
    if (await change("DELETE", path(one.key), { said: $("#said") })) await show();
  };
  sure(t("Delete {key}?", { key: one.key }), t("Documents can be removed only while the campaign is a draft."), t("Delete it"), end);
}

const steps = (one) => h("span", { class: "actions" },
  button(t("Change"), () => tried(() => edit(one.key), $("#said")), { class: "quiet", "aria-label": t("Change {key}", { key: one.key }) }),
  button(t("Delete …"), () => remove(one), { class: "quiet", "aria-label": t("Delete {key}", { key: one.key }) }));

// A tutorial has a few documents, which are shown whole.
const show = reading(place, async () => {
  const found = (await all(`${api}/documents`)).filter((one) => one.kind === "tutorial");
  fill(place, found.length ? table(t("Tutorial documents"), [
    [t("Document"), (one) => one.name], [t("Position"), (one) => figure(one.position), "right"], [t("What to do"), steps],
  ], found) : empty({ icon: "texts", title: t("There is no tutorial yet."), text: t("Raters start with their first task.") }), fetched([listed(`${api}/documents`)]));
});

function segment({ source, text, question, payload, tolerance, reasons, columns, rules, retry }, rest) {
  const ruled = Object.fromEntries(Object.entries({ columns, rules, retry }).filter(([, value]) => value === true || value?.length));
  const known = { text, question, payload, tolerance: payload ? tolerance : null, reasons, ...ruled };
  return { source, references: rest?.references ?? {}, meta: { ...rest?.meta, tutorial: known } };
}

async function save() {
  let segments;
  try {
    segments = items.items.map((item) => segment(item.value, item.rest));
  } catch (error) {
    if (!(error instanceof Unfinished)) throw error;
    say(said, error.message);
    return;
  }
  if (!segments.length) {
    say(said, t("Add a segment."));
    return;
  }
  const key = form.elements.key.value.trim();
  if (!(await change("PUT", path(key), { body: { kind: "tutorial", segments }, said }))) return;
  items.set([]);
  await show();
}

const right = (one) => (one.marked ? t("{right} of {n}", { right: figure(one.right), n: figure(one.marked) }) : null);
const results = new Browse($("#results"), {
  label: t("How raters did"),
  path: `${api}/tutorial/results`,
  key: (one) => one.rater,
  sort: "rater",
  search: t("Search by rater or team"),
  filters: [{ name: "answered", label: t("State"), options: [["", t("all")], ["true", t("begun")], ["false", t("not begun")]] }],
  columns: [
    { head: t("Rater"), sort: "rater", cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater) },
    { head: t("Team"), sort: "team", cell: (one) => one.team, look: "wide" },
    { head: t("Answered"), sort: "answered", cell: (one) => figure(one.answered), look: "right" },
    { head: t("Right at the first attempt"), sort: "right", cell: right, look: "right" },
    { head: t("When"), sort: "at", cell: (one) => brief(one.at), look: "wide" },
  ],
  nothing: { icon: "people", title: t("Nobody is enrolled yet."), text: t("Each rater whom you enrol stands here with what they answered.") },
});

for (const add of form.querySelectorAll("[data-add]")) add.addEventListener("click", () => items.add(add.dataset.add, {}, { focus: true }));
checkKey(form);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), save);
});
await show();
await results.open();
