// How far a campaign is, as it happens: the stream of progress, drawn anew whenever something changed.

import { call, Unreachable, why } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { fact } from "./deadline.js";
import { needsNow, overTime, verdicts, workedHours } from "./overview_now.js";
import { api, brief, change, empty, facts, figure, here, hours, main, moment, NONE, percent, resting, STATES, sure, table, filledColumns, warned } from "./parts.js";

const live = $("#live");
const COORDINATES = main.dataset.role !== "viewer";
const MANAGES = !["viewer", "coordinator"].includes(main.dataset.role);
const COORDINATED = main.dataset.role === "coordinator";
const RELOAD_HOURS = 60_000; // milliseconds
const RETRY = 5_000; // milliseconds
const ENROLMENT = { active: t("active"), paused: t("paused"), left: t("left"), erased: t("erased") };
const TASKS = { free: t("free"), leased: t("leased"), handed_in: t("handed in"), surplus: t("surplus"), imported: t("imported") };
let paid = new Map();
const known = { paid: [], plan: null, days: null, quality: JSON.parse($("#verdicts")?.textContent ?? "null") };
let latest = null;

function bar(share, label) {
  return h("progress", { max: "1", value: String(share ?? 0), "aria-label": label });
}

const state = (progress, name) => progress.states.find((one) => one.state === name) ?? { tasks: 0, segments: 0 };

const lastDay = (n) => t("{n} in the last day", { n: figure(n) });

function ending({ forecast, share }) {
  if (share === 1) return t("everything is handed in");
  if (!forecast) return t("not enough data");
  return t("{share}: {low} to {high}", { share: percent(forecast.level), low: moment(forecast.low), high: moment(forecast.high) });
}

function whole(progress) {
  const { pace, forecast, leases, balance, groups } = progress;
  const goesOn = progress.state !== "closed";
  const done = ["handed_in", "imported"].reduce((sum, name) => sum + state(progress, name).tasks, 0);
  return [
    bar(progress.share, t("Share handed in")),
    facts([
      [t("Handed in"), percent(progress.share), count(progress.total.tasks, "{done} of {n} task", "{done} of {n} tasks", { done: figure(done) })],
      [t("Judgments"), figure(progress.total.judgments), lastDay(pace.judgments_last_day)],
      goesOn && [t("Pace"), pace.tasks_a_day === null ? NONE : t("{n} tasks a day", { n: figure(pace.tasks_a_day, 1) }), lastDay(pace.tasks_last_day)],
      goesOn && [
        t("Expected end at this pace"),
        forecast && progress.share < 1 ? moment(forecast.median) : NONE,
        ending(progress),
      ],
      goesOn && fact(progress.deadline),
      COORDINATES && workedHours(known.paid, known.plan),
      COORDINATES && verdicts(known.quality),
      [t("Leases"), figure(leases.held), t("{n} expired", { n: figure(leases.n_expired) })],
      [t("Open flags"), MANAGES ? h("a", { href: `${here}/problems` }, figure(progress.open_flags)) : figure(progress.open_flags)],
      balance && [t("Balance"), figure(balance.normalized_entropy, 3), balance.planned === null ? null : t("planned {figure}", { figure: figure(balance.planned, 3) })],
      groups && [t("Groups"), t("{n} finished", { n: figure(groups.finished) }),
        t("{half} started, {untouched} not started", { half: figure(groups.half_done), untouched: figure(groups.untouched) })],
    ].filter(Boolean)),
  ];
}

function states(progress) {
  return table(t("Tasks by state"), [
    [t("State"), (one) => TASKS[one.state] ?? one.state],
    [t("Tasks"), (one) => figure(one.tasks), "right"],
    [t("Items"), (one) => figure(one.items), "right"],
    [t("Segments"), (one) => figure(one.segments), "right"],
    [t("Words"), (one) => figure(one.words), "right"],
    [t("Judgments"), (one) => figure(one.judgments), "right"],
  ], progress.states);
}

function raters(progress) {
  if (!progress.raters) return null;
  const all = (one) => one.tasks_handed_in + one.tasks_left;
  const done = (one) => (all(one) ? bar(one.tasks_handed_in / all(one), t("{rater}: share of their tasks handed in", { rater: one.rater })) : NONE);
  return [h("h2", {}, t("Raters")), progress.raters.length ? table(t("Progress by rater"), filledColumns([
    [t("Rater"), (one) => one.rater],
    [t("Team"), (one) => one.team],
    [t("State"), (one) => ENROLMENT[one.state] ?? one.state],
    [t("Done"), done],
    [t("Handed in"), (one) => figure(one.tasks_handed_in), "right"],
    [t("Left"), (one) => figure(one.tasks_left), "right"],
    [t("Judgments"), (one) => figure(one.judgments), "right"],
    [t("Last day"), (one) => figure(one.judgments_last_day), "right"],
    [t("Hours"), (one) => (paid.has(one.rater) ? hours(paid.get(one.rater)) : NONE), "right"],
    [t("Last seen"), (one) => brief(one.last_at)],
    [t("Lease"), (one) => (one.lease_expired ? t("expired") : NONE)],
    [t("Flags"), (one) => (one.open_flags ? figure(one.open_flags) : null), "right"],
  ], progress.raters), progress.raters) : h("p", {}, t("Nobody is enrolled yet."))];
}

function systems(progress) {
  if (!progress.systems?.length) return null;
  return [h("h2", {}, t("Systems")), table(t("Progress by system"), [
    [t("System"), (one) => one.name],
    [t("Done"), (one) => bar(one.items_handed_in / Math.max(1, one.items), t("{system}: share of its items handed in", { system: one.name }))],
    [t("Items"), (one) => figure(one.items), "right"],
    [t("Started"), (one) => figure(one.items_begun), "right"],
    [t("Handed in"), (one) => figure(one.items_handed_in), "right"],
    [t("Judgments"), (one) => figure(one.judgments), "right"],
  ], progress.systems)];
}

function expired(progress) {
  if (!progress.leases.expired.length) return null;
  return [h("h2", {}, t("Expired leases")), table(t("Expired leases"), [
    [t("Task"), (one) => one.task],
    [t("Rater"), (one) => one.rater],
    [t("Since"), (one) => moment(one.since)],
  ], progress.leases.expired)];
}

function draw() {
  const progress = latest;
  $("#state").textContent = STATES[progress.state];
  const fetched = h("p", { class: "fetch" }, t("Fetch:"), h("a", { href: `${api}/progress` }, "JSON"));
  if (main.dataset.role === "viewer") fetched.append(" ");
  else fetched.append(" ", h("a", { href: `${api}/hours.csv` }, t("Hours as CSV")));
  if (!progress.total.tasks && live.dataset.planned !== "yes") { // nothing to follow: the way above says what comes next
    fill(live, warned(progress.warnings), empty({ icon: "clock", title: t("There are no tasks yet."), text: t("Progress appears here once a plan is frozen.") }));
    live.removeAttribute("aria-busy");
    return;
  }
  fill(
    live, COORDINATES ? needsNow(progress, known) : null, whole(progress), COORDINATED ? null : overTime(known.days), warned(progress.warnings),
    h("p", { class: "quiet" }, t("As of {when}, data version {version}.", { when: moment(progress.at), version: figure(progress.data_version) })), fetched,
    h("h2", {}, t("Tasks")), states(progress),
    raters(progress), systems(progress), expired(progress),
  );
  live.removeAttribute("aria-busy");
}

async function readHours() {
  const answer = await call("GET", `${api}/hours`).catch((error) => {
    if (!(error instanceof Unreachable)) throw error;
    return null; // what was read before stays
  });
  if (!answer?.ok) return;
  known.paid = answer.body.raters;
  paid = new Map(answer.body.raters.map((one) => [one.rater, one.payable_seconds]));
  if (latest) draw();
}

// What changes slowly is read once a minute, and not with every event.
async function readSlow(name, path) {
  const answer = await call("GET", path).catch((error) => {
    if (!(error instanceof Unreachable)) throw error;
    return null; // what was read before stays
  });
  if (!answer?.ok) return;
  known[name] = name === "days" ? answer.body.days : answer.body;
  if (latest) draw();
}

function readDays() {
  return COORDINATED ? null : readSlow("days", `${api}/progress/days?utc_offset=${-new Date().getTimezoneOffset()}`);
}

// Why there is no progress: what the server says of it, else that it cannot be reached.
async function explain() {
  if (latest) return;
  const answer = await call("GET", `${api}/progress`).catch((error) => {
    if (!(error instanceof Unreachable)) throw error;
    return null;
  });
  if (latest || answer?.ok) return;
  fill(live, h("p", { class: "said", role: "alert" }, answer ? why(answer) : t("The server cannot be reached; trying again.")));
}

// A browser ends a stream for good where the answer is no stream, as while the server restarts.
function follow() {
  const stream = new EventSource(`${api}/progress/stream`);
  stream.addEventListener("progress", (event) => {
    latest = JSON.parse(event.data);
    draw();
  });
  stream.addEventListener("error", () => {
    if (!$(".said", live)) explain();
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, RETRY);
  });
}

const take = (button) => resting(button, async () => {
  if (await change("POST", `${api}/${button.dataset.step}`, { said: $("#said") })) location.reload();
});

for (const button of document.querySelectorAll("[data-step]")) {
  button.addEventListener("click", () => {
    if (button.dataset.step !== "close") take(button);
    else sure(t("Close the campaign?"), t("All tasks are closed for judging."), t("Close it"), () => take(button));
  });
}

// Who has just copied a campaign stands before the copy, and may not see that it is one.
const model = new URLSearchParams(location.search).get("copy_of");
if (model) {
  history.replaceState(null, "", location.pathname);
  const { toast } = await import("./toast.js");
  toast(t("This is the copy of {campaign}, without its raters, plans and judgments.", { campaign: model }));
}

follow();
setInterval(explain, RETRY);
readDays();
setInterval(readDays, RELOAD_HOURS);
if (MANAGES && live.dataset.planned) readSlow("plan", `${api}/plan`);
if (COORDINATES) {
  readHours();
  setInterval(readHours, RELOAD_HOURS);
}
