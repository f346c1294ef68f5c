// A new plan in the middle: what is so now, changing it, a look at what a new plan moves, and then doing it.

import { $, button, dialog, fill, fresh, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { Browse } from "./browse.js";
import { changeRaters, DONE } from "./changed_raters.js";
import { all, api, badge, change, decimal, facts, fetched, figure, foreign, get, here, inHand, moment, NONE, percent, resting, sure, table, warned } from "./parts.js";
import { reading } from "./reading.js";
import { settled } from "./waiting.js";

const said = $("#said");
const form = $("#replan");
const wrong = $(".said", form);
const done = $("button[type=submit]", form);
const place = $("#plan");
const LONG = 300_000; // milliseconds
const MOST_SHOWN = 200;
const STATES = { active: t("active"), paused: t("paused"), left: t("left"), withdrawn: t("withdrawn") };
const MOVES = { stayed: t("stay as they are"), moved: t("go to another rater"), redone: t("are judged again"), new: t("are new"), dropped: t("are dropped") };
const MOVED = { stayed: t("stays"), moved: t("moves"), redone: t("again"), new: t("new"), dropped: t("dropped") };
const inPlan = new Set(JSON.parse(form.dataset.documents));
const ranked = new Set(JSON.parse(form.dataset.systems));
let plan = null;
let opened = false; // the list of raters
form.hidden = true; // until there is what it goes on from

// What is changed is to be looked at again before it is done.
function forget() {
  done.disabled = true;
}

// What was looked at before is another plan now. left: raters that are still to be changed.
async function changed(left = []) {
  forget();
  fill(place);
  await Promise.all([raters.done(left), show()]);
}

const put = async (path, body, more = {}) => {
  const answer = await change("PUT", path, { body, said, ...more });
  if (answer) await changed();
  return answer;
};

const enrolled = ({ capacity, capacity_unit, team, buckets, languages, attributes, state }) => ({ capacity, capacity_unit, team, buckets, languages, attributes, state });
const enrol = (one, news, more) => put(`${api}/raters/${encodeURIComponent(one.key)}`, { ...enrolled(one), ...news }, { headers: { "If-Match": `"${one.settings_version}"` }, ...more });

function bound(one) {
  const id = fresh("capacity");
  const input = h("input", { id, name: "capacity", inputmode: "numeric", pattern: "[0-9]*", autocomplete: "off", value: one.capacity === null ? "" : String(one.capacity) });
  const unit = h("select", { id: fresh("unit"), name: "capacity_unit", "aria-label": t("Counted in") }, [["items", t("items")], ["segments", t("segments")], ["words", t("words")]].map(([value, name]) => h("option", { value, selected: value === one.capacity_unit }, name)));
  const [refused, go] = [h("p", { class: "said", role: "alert" }), h("button", { type: "submit" }, t("Save"))];
  const inside = h("form", { class: "field" }, h("label", { for: id }, t("Maximum amount of work; empty for no limit")), input, unit, refused, h("p", { class: "actions" }, go));
  const box = dialog(t("Capacity of {rater}", { rater: one.key }), inside, { closeLabel: t("Back") });
  inside.addEventListener("submit", (event) => {
    event.preventDefault();
    const news = { capacity: input.value.trim() ? Number(input.value) : null, capacity_unit: unit.value };
    resting(go, async () => (await enrol(one, news, { said: refused })) && box.close());
  });
}

const several = changeRaters({ said });
const set = (rows, state) => several.set({ show: changed, done: changed }, rows, { state }, DONE[state]);

function leave(rows) {
  const title = rows.length === 1 ? t("Has {rater} left?", { rater: rows[0].key }) : count(rows.length, "Has {n} rater left?", "Have {n} raters left?");
  sure(title, t("Their link stops working. Work they handed in counts; the rest goes to others with the new plan."), t("They have left"), () => set(rows, "left"));
}

function raterSteps(one) {
  if (!["active", "paused"].includes(one.state)) return one.state === "left" ? button(t("Is back"), () => set([one], "active"), { class: "ghost", "aria-label": t("{rater} is back", { rater: one.key }) }) : null;
  return h("span", { class: "actions" },
    button(t("Has left …"), () => leave([one]), { class: "ghost", "aria-label": t("{rater} has left", { rater: one.key }) }),
    button(t("Capacity …"), () => bound(one), { class: "ghost", "aria-label": t("Capacity of {rater}", { rater: one.key }) }));
}

const UNITS = { items: t("items"), segments: t("segments"), words: t("words") };
const raters = new Browse(h("div", { class: "browse short" }), {
  label: t("Raters"),
  path: `${api}/raters`,
  key: (one) => one.key,
  search: t("Search by key, name or address"),
  filters: [{ name: "state", label: t("State"), options: [["", t("all")], ...["active", "paused", "left"].map((state) => [state, STATES[state]])] }],
  columns: [
    { head: t("Rater"), sort: "key", cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.key)}` }, one.key) },
    { head: t("State"), sort: "state", cell: (one) => badge(one.state ?? "none", STATES[one.state] ?? t("not enrolled")) },
    { head: t("Team"), sort: "team", cell: (one) => one.team, look: "wide" },
    { head: t("Capacity"), cell: (one) => (one.capacity === null ? t("no limit") : `${figure(one.capacity)} ${UNITS[one.capacity_unit]}`) },
    { head: t("What to do"), cell: raterSteps, look: "steps" },
  ],
  actions: [{ label: t("Has left …"), icon: "left", run: leave }],
  choosable: (one) => ["active", "paused"].includes(one.state),
  nothing: { icon: "people", title: t("Nobody is enrolled yet."), text: t("A plan gives work to raters who are enrolled."), action: h("a", { class: "button plain", href: `${here}/raters` }, t("Enrol raters")) },
});

function systems(found) {
  const turn = (one) => {
    const { key, name, kind, lab, tags } = one;
    const state = one.state === "active" ? "withdrawn" : "active";
    return put(`${api}/systems/${encodeURIComponent(key)}`, { name, kind, lab, tags, state });
  };
  const step = (one) => (one.state === "active"
    ? button(t("Withdraw"), () => turn(one), { class: "quiet", "aria-label": t("Withdraw {system}", { system: one.key }) })
    : button(t("Takes part"), () => turn(one), { class: "quiet", "aria-label": t("{system} takes part", { system: one.key }) }));
  return [h("h2", {}, t("Systems")), table(t("Systems"), [
    [t("System"), (one) => one.name], [t("State"), (one) => STATES[one.state] ?? one.state], [t("In the plan"), (one) => (ranked.has(one.key) ? t("yes") : t("no"))], [t("What to do"), step],
  ], found), h("p", {}, h("a", { href: `${here}/texts` }, t("Add a late system or documents")))];
}

function documents(found) {
  const legend = h("legend", {}, t("Documents to add"));
  const fresh_ = found.filter((one) => one.kind === "test" && !inPlan.has(one.key));
  if (!fresh_.length) return h("p", { class: "quiet" }, t("The plan already covers all documents."));
  return h("fieldset", { class: "boxes" }, legend, fresh_.map((one) => h("label", {}, h("input", { type: "checkbox", name: "documents", value: one.key, checked: true }), one.name)));
}

function asked() {
  const boxes = [...form.querySelectorAll("[name=documents]")];
  const body = { reason: form.elements.reason.value.trim(), rebalance: form.elements.rebalance.checked };
  if (boxes.length) body.documents = boxes.filter((box) => box.checked).map((box) => box.value);
  return body;
}

function moves({ counts }) {
  const found = Object.entries(MOVES).filter(([name]) => counts[name]);
  return found.length ? table(t("What happens to the ratings"), [[t("Ratings"), ([name]) => figure(counts[name]), "right"], [t("What happens to them"), ([, text]) => text]], found) : h("p", {}, t("Nothing changes."));
}

function oneByOne({ changes }) {
  const moving = changes.filter((one) => one.what !== "stayed");
  if (!moving.length) return null;
  return h("details", {}, h("summary", {}, count(moving.length, "{n} change, one by one", "{n} changes, one by one")), table(t("Changes one by one"), [
    [t("Document"), (one) => one.document], [t("Segments"), (one) => `${one.first}–${one.last}`], [t("Rating"), (one) => figure(one.nth), "right"],
    [t("What"), (one) => MOVED[one.what]], [t("From"), (one) => one.before ?? NONE], [t("To"), (one) => one.after ?? NONE],
  ], moving.slice(0, MOST_SHOWN)), moving.length > MOST_SHOWN ? h("p", {}, t("The first {n} are shown.", { n: figure(MOST_SHOWN) })) : null);
}

function load(report) {
  const before = new Map(plan.report.raters.map((one) => [one.rater, one]));
  const now = new Map(report.raters.map((one) => [one.rater, one]));
  const names = [...new Set([...before.keys(), ...now.keys()])].sort();
  return table(t("Load before and after"), [
    [t("Rater"), (rater) => rater], [t("Tasks before"), (rater) => figure(before.get(rater)?.tasks ?? 0), "right"], [t("Tasks after"), (rater) => figure(now.get(rater)?.tasks ?? 0), "right"],
    [t("Segments before"), (rater) => figure(before.get(rater)?.segments ?? 0), "right"], [t("Segments after"), (rater) => figure(now.get(rater)?.segments ?? 0), "right"],
    [t("Hours after"), (rater) => decimal(now.get(rater)?.hours ?? 0, 1), "right"],
  ], names);
}

function draw(found) {
  const { report, version, change: what } = found;
  const was = plan.report;
  const both = (before, after, digits = 0) => t("{before} → {after}", { before: figure(before, digits), after: figure(after, digits) });
  fill(place, h("h2", {}, version === null ? t("Preview of the new plan") : t("Plan {n} is in force", { n: figure(version) })),
    moves(what), oneByOne(what),
    facts([
      [t("Tasks"), both(was.total.tasks, report.total.tasks)], [t("Items"), both(was.total.items, report.total.items)],
      [t("Hours"), both(was.total.hours, report.total.hours, 1), t("expected, over all raters")],
      [t("Balance"), both(was.balance.normalized_entropy, report.balance.normalized_entropy, 3), t("normalized entropy")],
      [t("Systems in one task"), percent(report.least_together), t("for the pair that meets least often")],
    ]),
    warned([...report.unmet.map((one) => `${one.what}: ${one.why}`), ...report.notes]), load(report),
    version === null ? inHand(found, "replan") : fetched([["JSON", `${api}/plan`]]));
}

async function compile(dryRun) {
  const body = asked();
  const ask = () => change("POST", `${api}/plan/replan?dry_run=${dryRun}`, { body, said: wrong, timeout: LONG });
  const answer = await settled(ask, { place, said: wrong });
  if (!answer) return null;
  draw(answer.body);
  place.scrollIntoView({ block: "nearest" });
  return answer.body;
}

const where = $("#now");
const show = reading(where, async () => {
  plan = await get(`${api}/plan`, { absent: null });
  if (!plan) {
    fill(where, h("p", {}, t("There is no plan yet to change."), " ", h("a", { href: `${here}/design` }, t("Make one"))));
    return;
  }
  const [there, texts] = await Promise.all([all(`${api}/systems`), all(`${api}/documents?kind=test`), opened ? null : raters.open()]);
  opened = true;
  fill(where, h("p", {}, t("Plan {n} of {when}.", { n: figure(plan.version), when: moment(plan.at) })),
    plan.stale?.length ? h("p", { class: "note" }, t("Since it was compiled:"), " ", foreign(`${plan.stale.join("; ")}.`)) : h("p", {}, t("Nothing has changed since the plan was compiled.")),
    fetched([["JSON", `${api}/plan`]]),
    h("h2", {}, t("Raters")), raters.place, h("p", {}, h("a", { href: `${here}/raters` }, t("Enrol raters"))), systems(there));
  fill($("#documents"), documents(texts));
  form.hidden = false;
});

form.addEventListener("input", (event) => {
  if (event.target !== form.elements.reason) forget();
});
$("[data-look]", form).addEventListener("click", (event) => resting(event.currentTarget, async () => {
  if (!form.reportValidity()) return;
  if (await compile(true)) done.disabled = false;
}));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (done.disabled) return;
  resting(done, async () => {
    const made = await compile(false);
    if (!made) return;
    for (const key of asked().documents ?? []) inPlan.add(key);
    for (const row of Object.values(made.report.rater_system)) for (const system of Object.keys(row)) ranked.add(system);
    form.elements.reason.value = "";
    await show();
  }).then(forget);
});
await show();
