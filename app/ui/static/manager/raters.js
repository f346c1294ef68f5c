// Raters: who is enrolled, enrolling more, and what can be done with several of them at once.

import { call, csrf, idempotencyKey, Unreachable } from "../shared/api.js";
import { $, button, dialog, fill, h } from "../shared/dom.js";
import { count, loadRefusals, locale, t } from "../shared/messages.js";
import { ask } from "./asking.js";
import { Browse } from "./browse.js";
import { DONE, changeRaters } from "./changed_raters.js";
import { delimiterOf, rowsOf, textOf } from "./delimited.js";
import { each } from "./each.js";
import { giveLink } from "./links.js";
import { all, api, badge, change, figure, here, icon, main, resting, say, sure, tell, told, warned } from "./parts.js";
import { tried } from "./reading.js";
import { sheetOf, tableOf } from "./sheets.js";
import { toast } from "./toast.js";

const said = $("#said");
const made = $("#made");
const manages = !["coordinator", "viewer"].includes(main.dataset.role);
const EXCLUDED = "urn:plumbline:problem:excluded-already";
const ENROLMENT = { active: t("active"), paused: t("paused"), left: t("left"), erased: t("erased") };
const UNITS = { items: (n) => t("{n} items", { n }), segments: (n) => t("{n} segments", { n }), words: (n) => t("{n} words", { n }) };
const MADE = new Intl.DateTimeFormat(locale(), { dateStyle: "medium" });

function capacity(one) {
  if (one.capacity === null) return t("no limit");
  return UNITS[one.capacity_unit]?.(figure(one.capacity)) ?? `${figure(one.capacity)} ${one.capacity_unit}`;
}

const state = (one) => badge(one.state ?? "none", one.state ? ENROLMENT[one.state] ?? one.state : t("not enrolled"));

function steps(one) {
  if (one.state === "left" && manages) {
    const back = button(t("Reinstate"), () => resting(back, () => set([one], { state: "active" })), { class: "ghost", "aria-label": t("{rater} has not left", { rater: one.key }) });
    return back;
  }
  if (!["active", "paused"].includes(one.state)) return null;
  const link = button([icon("link"), t("New link")], () => resting(link, () => giveLink(one, made, said)), { class: "ghost", "aria-label": t("New link for {rater}", { rater: one.key }) });
  if (!manages) return link;
  const next = one.state === "active" ? "paused" : "active";
  const label = next === "paused" ? t("Pause") : t("Resume");
  const step = button(icon(next === "paused" ? "pause" : "play"), () => resting(step, () => set([one], { state: next })), { class: "ghost only-icon", title: label, "aria-label": `${label}: ${one.key}` });
  const leave = button(icon("left"), () => resting(leave, () => set([one], { state: "left" })), { class: "ghost only-icon", title: t("Has left"), "aria-label": t("{rater} has left", { rater: one.key }) });
  return h("span", { class: "actions" }, link, step, leave);
}

const several = changeRaters({ said, heard: ({ warnings }) => fill(made, warned(warnings)) });
const set = (rows, values, place) => several.set(raters, rows, values, "state" in values ? DONE[values.state] : (n) => count(n, "{n} rater changed teams.", "{n} raters changed teams."), place);

// A team for all of them; a new name makes a team.
function assign(rows) {
  const known = h("datalist", { id: "teams" }, teams.map((one) => h("option", { value: one.key })));
  const field = h("input", { id: "new-team", data: { place: "team" }, list: "teams", maxlength: "128", autocomplete: "off" });
  const wrong = h("p", { class: "said", role: "alert" });
  const go = h("button", { type: "submit" }, t("Assign"));
  const form = h("form", { class: "field" }, h("label", { for: "new-team" }, t("Team; empty for no team")), field, known, wrong, h("p", { class: "actions" }, go));
  const box = dialog(count(rows.length, "Team of {n} rater", "Team of {n} raters"), form, { closeLabel: t("Back") });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    resting(go, async () => {
      const team = field.value.trim() || null;
      if ((team === null || (await ensureTeam(team, wrong))) && (await set(rows, { team }, wrong))) box.close();
    });
  });
}

async function ensureTeam(team, where, form) {
  const path = `${api}/teams/${encodeURIComponent(team)}`;
  return (await call("GET", path)).ok || Boolean(await change("PUT", path, { body: { name: team }, said: where, form }));
}

// Each exclusion is an act of its own, which undoing lifts; a rater who is excluded already stays so.
function exclude(rows) {
  ask(count(rows.length, "Exclude {n} rater from all results?", "Exclude {n} raters from all results?"), t("Reason"), t("Exclude"), async (reason, where) => {
    const numbers = [];
    const { done, before, left } = await each(rows, where, async ({ key }, refused) => {
      const answer = await change("POST", `${api}/exclusions`, { body: { rater: key, reason }, said: where, refused });
      if (answer) numbers.push(answer.body.exclusion);
      return answer;
    }, (answer) => answer.body?.type === EXCLUDED);
    rows = left;
    if (done.length) toast(count(done.length, "{n} rater is excluded. The judgments are kept.", "{n} raters are excluded. Their judgments are kept."), () => lift(numbers));
    if (before.length) toast(count(before.length, "{n} rater was excluded already.", "{n} raters were excluded already."));
    await raters.done(left);
    return !left.length;
  });
}

// Those that are lifted leave `numbers`, so that whoever asks again after a failure asks for the rest.
async function lift(numbers) {
  const reason = encodeURIComponent(t("undone"));
  const { left } = await each([...numbers], said, (n, refused) => change("DELETE", `${api}/exclusions/${n}?reason=${reason}`, { said, refused }));
  numbers.splice(0, numbers.length, ...left);
  return !left.length;
}

function write(rows) {
  ask(count(rows.length, "Message to {n} rater", "Message to {n} raters"), t("Text, shown on the rater's page until they confirm that they have read it"), t("Send"), async (text, where) => {
    const answer = await change("POST", `${api}/messages`, { body: { raters: rows.map((one) => one.key), text }, said: where });
    if (answer) toast(t("Sent."));
    return Boolean(answer);
  });
}

const newLinks = (rows) => sure(count(rows.length, "New link for {n} rater?", "New links for {n} raters?"), t("Their previous links and sessions end at once. You cannot undo this."), t("Make the links"), () => tried(() => saveLinks({ raters: rows.map((one) => one.key) }), said));

async function saveLinks(body) {
  say(said, "");
  const headers = { "X-CSRF-Token": csrf(), "Content-Type": "application/json", "Idempotency-Key": idempotencyKey(), Accept: "text/csv,application/problem+json" };
  let answer;
  try {
    answer = await fetch(`${api}/links`, { method: "POST", headers, body: JSON.stringify(body) });
  } catch (error) {
    throw new Unreachable(String(error));
  }
  if (!answer.ok) {
    await loadRefusals();
    tell(said, told({ status: answer.status, body: await answer.json() }));
    return;
  }
  const file = URL.createObjectURL(await answer.blob());
  const link = h("a", { class: "button", href: file, download: `${main.dataset.campaign}-links.csv` }, icon("download"), t("Save the links"));
  fill(made, h("p", {}, t("New links were created; previous links no longer work.")), h("p", {}, link));
  made.scrollIntoView({ block: "nearest" });
}

// All or nobody: the list is checked before a new team is made for it.
async function enrol(form) {
  const body = { keys: form.elements.keys.value.split(/[\s,;]+/).filter(Boolean) };
  if (form.elements.capacity.value.trim()) Object.assign(body, { capacity: Number(form.elements.capacity.value), capacity_unit: "segments" });
  if (!(await change("POST", `${api}/raters?dry_run=true`, { body, said, form }))) return;
  const team = form.elements.team.value.trim();
  if (team) {
    if (!(await ensureTeam(team, said, form))) return;
    body.team = team;
  }
  const answer = await change("POST", `${api}/raters`, { body, said, form });
  if (answer) {
    form.reset();
    fill(made, warned(answer.body.warnings));
  }
  await raters.show();
}

async function upload(form) {
  const [file] = form.elements.file.files;
  const table = file.name.toLowerCase().endsWith(".xlsx") ? await tableOf(await sheetOf(file)).text() : await textOf(file);
  if (namesRaters(table)) await enrolTable(form, { table, new_teams: true });
  else sure(t("Number these raters?"), t("The table has no column “rater”. Each line becomes a new rater with a key: r1, r2 and so on."), t("Number and enrol"), () => tried(() => enrolTable(form, { table, new_teams: true, new_keys: true }), said), "");
}

const namesRaters = (table) => (rowsOf(table.replace(/^\uFEFF/, ""), delimiterOf(table), true, 1)[0] ?? []).some((name) => name.trim().toLowerCase() === "rater");

async function enrolTable(form, body) {
  const answer = await change("POST", `${api}/raters/import`, { body, said, form });
  if (!answer) return;
  form.reset();
  fill(made, warned(answer.body.warnings));
  toast(count(answer.body.enrolled.length, "{n} rater is enrolled.", "{n} raters are enrolled."));
  await raters.show();
}

function sends(form, work) {
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    resting($("button", form), () => tried(() => work(form), said));
  });
}

sends($("#enrol"), enrol);
sends($("#upload"), (form) => upload(form).catch((error) => {
  if (!(error instanceof TypeError)) throw error;
  say(said, t("This file cannot be read. Save it as CSV and try again."));
}));
$("#links").addEventListener("click", (event) => resting(event.currentTarget, () => tried(() => saveLinks({}), said)));

let teams = [];
const raters = new Browse($("#raters"), {
  label: t("Raters"),
  path: `${api}/raters`,
  key: (one) => one.key,
  search: t("Search by key, name or address"),
  filters: [
    { name: "state", label: t("State"), options: [["", t("all")], ...Object.entries(ENROLMENT)] },
  ],
  async prepare() {
    teams = manages ? await all(`${api}/teams`) : [];
    const options = teams.map((one) => [one.key, one.name]);
    if (teams.length) this.filters.push({ name: "team", label: t("Team"), options: [["", t("all")], ...options] });
  },
  columns: [
    { head: t("Rater"), sort: "key", cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.key)}` }, one.key) },
    { head: t("State"), sort: "state", cell: state },
    { head: t("Team"), sort: "team", cell: (one) => one.team, look: "wide" },
    { head: t("Name"), cell: (one) => one.contact?.name, look: "wide" },
    { head: t("Capacity"), cell: capacity, look: "wide" },
    { head: t("Languages"), cell: (one) => one.languages.join(", ") || null, look: "wide" },
    { head: t("Since"), sort: "enrolled", cell: (one) => (one.enrolled_at ? MADE.format(new Date(one.enrolled_at)) : null), look: "wide" },
    { head: t("What to do"), cell: steps, look: "steps" },
  ],
  actions: manages ? [
    { label: t("Pause"), icon: "pause", run: (rows) => set(rows, { state: "paused" }) },
    { label: t("Resume"), icon: "play", run: (rows) => set(rows, { state: "active" }) },
    { label: t("Team …"), icon: "team", run: assign },
    { label: t("Message …"), icon: "message", run: write },
    { label: t("New links …"), icon: "link", run: newLinks },
    { label: t("Has left"), icon: "left", run: (rows) => set(rows, { state: "left" }) },
    { label: t("Exclude …"), icon: "exclude", look: "danger", run: exclude },
  ] : [],
  nothing: manages
    ? { icon: "people", title: t("Nobody is enrolled yet."), text: t("Enrol raters above, using keys that do not reveal who they are. Then send each of them a link.") }
    : { icon: "people", title: t("Nobody in your team is enrolled yet."), text: t("A manager enrols raters.") },
});
await raters.open();
