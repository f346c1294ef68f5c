// Documents with known answers, of the tutorial and of attention checks: what there are, a form to write one, how often
// checks come, and how raters did.

import { call, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Unfinished } from "./judging.js";
import { Browse } from "./browse.js";
import { checkKey } from "./keys.js";
import { Items } from "./known.js";
import { api, brief, change, empty, fetched, figure, filledColumns, get, here, listed, numeral, refuse, Refused, resting, say, sure, table, told, written } from "./parts.js";
import { Prefill } from "./prefill.js";
import { reading, tried } from "./reading.js";

const form = $("#tutorial");
const said = $(".said", form);
const place = $("#documents");
// Only where the protocol takes errors that are marked in advance, and only of checks.
const prefill = form.dataset.prefill === undefined ? null : (...given) => new Prefill(...given);
const items = new Items($("#items"), form.dataset, (n) => t("Segment {n}", { n }), { prefill });
const showPrefill = () => $("#items").classList.toggle("as-tutorial", form.elements.kind.value !== "attention");
const TITLES = { tutorial: t("Tutorial"), attention: t("Attention check") };
const path = (key) => `${api}/documents/${encodeURIComponent(key)}`;

async function edit(key) {
  const { kind, segments } = await get(path(key));
  form.elements.key.value = key;
  form.elements.kind.value = kind;
  showPrefill();
  items.set(segments.map(({ source, references, meta }) => ({ ...(meta[kind] ?? {}), source, rest: { references, meta } })));
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

// What the page says that there is; after a change it is asked for anew.
async function documentsNow() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) throw new Unreachable(String(answer?.status));
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  place.dataset.documents = $("#documents", page).dataset.documents;
}

// A tutorial has a few documents, which are shown whole.
const draw = () => {
  const found = JSON.parse(place.dataset.documents);
  fill(place, found.length ? table(t("Tutorial documents"), filledColumns([
    [t("Document"), (one) => one.name], [t("Kind"), (one) => TITLES[one.kind]], [t("Position"), (one) => figure(one.position), "right"], [t("What to do"), steps],
  ], found), found) : empty({ icon: "texts", title: t("There is no tutorial yet."), text: t("Raters start with their first task.") }), fetched([listed(`${api}/documents`)]));
  place.classList.toggle("nothing", !found.length);
  for (const [kind, part] of [["tutorial", $("#of-tutorial")], ["attention", $("#checks")]]) part.hidden = found.every((one) => one.kind !== kind);
  place.removeAttribute("aria-busy");
};
const show = reading(place, async () => {
  await documentsNow();
  draw();
  await openLists();
});

function check({ source, text, question, payload, tolerance, reasons, columns, rules, retry, prefill: marked }, rest) {
  if (question || retry || Object.keys(reasons).length) throw new Unfinished(t("An attention check looks like a task: it has no question, no explanation and no second answer."));
  const ruled = Object.fromEntries(Object.entries({ columns, rules, prefill: marked }).filter(([, value]) => value?.length));
  const known = { text, payload, tolerance: payload ? tolerance : null, ...ruled };
  return { source, references: rest?.references ?? {}, meta: { ...rest?.meta, attention: known } };
}

function segment({ source, text, question, payload, tolerance, reasons, columns, rules, retry }, rest) {
  const ruled = Object.fromEntries(Object.entries({ columns, rules, retry }).filter(([, value]) => value === true || value?.length));
  const known = { text, question, payload, tolerance: payload ? tolerance : null, reasons, ...ruled };
  return { source, references: rest?.references ?? {}, meta: { ...rest?.meta, tutorial: known } };
}

async function save() {
  const kind = form.elements.kind.value;
  let segments;
  try {
    const made = kind === "attention" ? check : segment;
    segments = items.items.map((item) => made(item.value, item.rest));
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
  if (!(await change("PUT", path(key), { body: { kind, segments }, said }))) return;
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
  nothing: { icon: "people", title: t("Nobody is enrolled yet."), text: t("Each enrolled rater is listed here with their answers.") },
});

for (const add of form.querySelectorAll("[data-add]")) add.addEventListener("click", () => items.add(add.dataset.add, {}, { focus: true }));
checkKey(form);
form.elements.kind.addEventListener("change", showPrefill);
showPrefill();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), save);
});

const VERDICTS = { pass: t("pass"), fail: t("fail") };
const checks = new Browse($("#checks"), {
  label: t("How raters did in attention checks"),
  path: `${api}/attention-checks/results`,
  name: "attention",
  key: (one) => one.rater,
  sort: "rater",
  search: t("Search by rater or team"),
  filters: [{ name: "state", label: t("State"), options: [["", t("all")], ["failed", t("some not passed")], ["passed", t("all passed")], ["none", t("no check yet")]] }],
  columns: [
    { head: t("Rater"), sort: "rater", cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater) },
    { head: t("Team"), sort: "team", cell: (one) => one.team, look: "wide" },
    { head: t("Checks"), sort: "checks", cell: (one) => figure(one.checks), look: "right" },
    { head: t("Passed at first"), sort: "passed", cell: (one) => figure(one.passed), look: "right" },
    { head: t("Not passed at first"), sort: "failed", cell: (one) => figure(one.failed), look: "right" },
    { head: t("All tries"), cell: (one) => figure(one.tries), look: "right" },
    { head: t("Verdict"), cell: (one) => VERDICTS[one.verdict] ?? null },
    { head: t("When"), sort: "at", cell: (one) => brief(one.at), look: "wide" },
  ],
  nothing: { icon: "people", title: t("Nobody is enrolled yet."), text: t("Each enrolled rater is listed here with their checks.") },
});

// How raters did is read where there is something that they could do.
const lists = new Map([[results, $("#of-tutorial")], [checks, $("#checks")]]);
async function openLists() {
  for (const [list, part] of lists) {
    if (part.hidden) {
      list.place.removeAttribute("aria-busy"); // there is nothing to wait for
      continue;
    }
    lists.delete(list);
    await list.open();
  }
}

// How often checks come: one of the campaign's settings.
const attention = $("#attention");
let seen = null; // {settings, etag}

function readSettings({ body, etag }) {
  seen = { settings: body.settings, etag };
  const { rate = 0, repeats = 0, loud = false } = body.settings.attention ?? {};
  attention.elements.rate.value = written(rate * 100);
  attention.elements.repeats.value = String(repeats);
  attention.elements.loud.checked = loud;
}

async function saveSettings() {
  const place = $(".said", attention);
  say(place, "");
  $("#attention-saved").textContent = "";
  const { rate, repeats, loud } = attention.elements;
  const asked = { ...seen.settings.attention, rate: numeral(rate.value.trim() || "0") / 100, repeats: Number(repeats.value || 0), loud: loud.checked };
  try {
    const answer = await call("PATCH", api, { body: { settings: { ...seen.settings, attention: asked } }, headers: { "If-Match": seen.etag } });
    if (answer.ok) {
      readSettings(answer);
      $("#attention-saved").textContent = t("Saved.");
    } else if (answer.status === 412) say(place, t("Somebody else has changed these settings. Reload the page to see them."));
    else refuse(place, answer);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(place, t("The server cannot be reached. Try again in a moment."));
  }
}

attention.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", attention), saveSettings);
});
draw();
await openLists();
const unread = $("#attention-read");
$("button[type=submit]", attention).disabled = true;
await reading(unread, async () => {
  const campaign = await call("GET", api);
  if (!campaign.ok) throw new Refused(told(campaign));
  readSettings(campaign);
  fill(unread);
  $("button[type=submit]", attention).disabled = false;
})();
