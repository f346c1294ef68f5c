// Raters: who is enrolled, enrolling more, and links, whose secrets are shown once.

import { call, csrf, idempotencyKey, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { api, change, fetched, figure, listed, main, resting, say, sure, table, tell, told, warned } from "./parts.js";
import { Listing, reading, tried } from "./reading.js";

const said = $("#said");
const made = $("#made");
const enrolled = new Listing(`${api}/raters`);
const manages = !["coordinator", "viewer"].includes(main.dataset.role);
const path = (rater) => `${api}/raters/${encodeURIComponent(rater)}`;
const ENROLMENT = { active: t("active"), paused: t("paused"), left: t("left"), erased: t("erased") };
const UNITS = { items: (n) => t("{n} items", { n }), segments: (n) => t("{n} segments", { n }), words: (n) => t("{n} words", { n }) };

const place = $("#raters");
const show = reading(place, async () => {
  const found = await enrolled.read();
  fill(place, found.length ? list(found) : h("p", {}, manages ? t("Nobody is enrolled yet. Enrol raters above, using keys that do not reveal who they are.") : t("Nobody in your team is enrolled yet.")), enrolled.rest(show), fetched([listed(enrolled.path)]));
});

function list(found) {
  return table(t("Raters"), [
    [t("Rater"), (one) => one.key], [t("State"), (one) => (one.state ? ENROLMENT[one.state] ?? one.state : t("not enrolled"))], [t("Team"), (one) => one.team],
    [t("Capacity"), capacity],
    [t("Languages"), (one) => one.languages.join(", ") || null],
    [t("What to do"), steps],
  ], found);
}

function capacity(one) {
  if (one.capacity === null) return t("no bound");
  return UNITS[one.capacity_unit]?.(figure(one.capacity)) ?? `${figure(one.capacity)} ${one.capacity_unit}`;
}

function steps(one) {
  if (one.state === "left" && manages) {
    const back = button(t("Take back"), () => resting(back, () => set(one, "active")), { class: "quiet", "aria-label": t("{rater} has not left", { rater: one.key }) });
    return back;
  }
  if (!["active", "paused"].includes(one.state)) return null;
  const link = button(t("New link"), () => resting(link, () => give(one.key)), { class: "quiet", "aria-label": t("New link for {rater}", { rater: one.key }) });
  if (!manages) return link;
  const next = one.state === "active" ? "paused" : "active";
  const label = next === "paused" ? t("Pause") : t("Go on");
  const step = button(label, () => resting(step, () => set(one, next)), { class: "quiet", "aria-label": `${label}: ${one.key}` });
  const leave = button(t("Has left"), () => sure(t("{rater} has left", { rater: one.key }), t("The link stops working, and a replan gives open work to others. Existing judgments stay. You can undo this under “What to do”."), t("Has left"), () => resting(leave, () => set(one, "left"))), { class: "quiet", "aria-label": t("{rater} has left", { rater: one.key }) });
  return h("span", { class: "actions" }, link, step, leave);
}

async function give(rater) {
  const answer = await change("POST", `${path(rater)}/link`, { said });
  if (!answer) return;
  fill(made, h("p", {}, t("The link of {rater}, shown this once:", { rater })), h("p", { class: "secret" }, answer.body.link));
}

async function set(one, state) {
  const { capacity, capacity_unit, team, buckets, languages, attributes } = one;
  const body = { capacity, capacity_unit, team, buckets, languages, attributes, state };
  const answer = await change("PUT", path(one.key), { body, said, headers: { "If-Match": `"${one.settings_version}"` } });
  if (!answer) return;
  fill(made, warned(answer.body.warnings));
  await show();
}

// All or nobody: the list is checked before a new team is made for it.
async function enrol(form) {
  const body = { keys: form.elements.keys.value.split(/[\s,;]+/).filter(Boolean) };
  if (form.elements.capacity.value.trim()) Object.assign(body, { capacity: Number(form.elements.capacity.value), capacity_unit: "segments" });
  if (!(await change("POST", `${api}/raters?dry_run=true`, { body, said }))) return;
  const team = form.elements.team.value.trim();
  if (team) {
    const there = await call("GET", `${api}/teams/${encodeURIComponent(team)}`);
    if (!there.ok && !(await change("PUT", `${api}/teams/${encodeURIComponent(team)}`, { body: { name: team }, said }))) return;
    body.team = team;
  }
  const answer = await change("POST", `${api}/raters`, { body, said });
  if (answer) {
    form.reset();
    fill(made, warned(answer.body.warnings));
  }
  await show();
}

async function linksForAll() {
  say(said, "");
  const headers = { "X-CSRF-Token": csrf(), "Content-Type": "application/json", "Idempotency-Key": idempotencyKey(), Accept: "text/csv,application/problem+json" };
  let answer;
  try {
    answer = await fetch(`${api}/links`, { method: "POST", headers, body: "{}" });
  } catch (error) {
    throw new Unreachable(String(error));
  }
  if (!answer.ok) {
    tell(said, told({ status: answer.status, body: await answer.json() }));
    return;
  }
  const file = URL.createObjectURL(await answer.blob());
  const link = h("a", { class: "button", href: file, download: `${main.dataset.campaign}-links.csv` }, t("Save the links"));
  fill(made, h("p", {}, `${t("New links were created; previous links no longer work.")} `), h("p", {}, link));
}

$("#enrol")?.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", event.target), () => tried(() => enrol(event.target), said));
});
$("#links").addEventListener("click", (event) => resting(event.currentTarget, () => tried(linksForAll, said)));
await show();
