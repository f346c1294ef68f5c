// Jobs, the newest first; while some are under way, how far they are is read again and again.

import { comesBack, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { api, change, fetched, figure, foreign, listed, main, moment, NONE, Refused, say, sure, tell } from "./parts.js";
import { Listing, reading, tried } from "./reading.js";

const place = $("#jobs");
const said = $("#said");
const manages = ["manager", "admin"].includes(main.dataset.role);
const STATES = { queued: t("waiting"), running: t("under way"), done: t("done"), failed: t("failed"), cancelled: t("cancelled") };
const EVERY = 2000; // milliseconds
const asked = new Listing(`${api}/jobs`, 200);
const below = h("div");
const rows = new Map();

const ended = (job) => ["done", "failed", "cancelled"].includes(job.state);

function bar(job) {
  if (ended(job)) return job.total ? t("{done} of {total} parts", { done: figure(job.done), total: figure(job.total) }) : NONE;
  const share = job.total ? { max: String(job.total), value: String(job.done) } : {};
  return h("progress", { ...share, "aria-label": t("Parts that are computed") });
}

function outcome(job) {
  if (job.state === "done") return h("a", { href: job.report }, t("Report as JSON"));
  if (job.state === "failed") return foreign(`${job.error.title}: ${job.error.detail}`);
  return job.waiting ? foreign(job.waiting) : NONE;
}

function cancel(job) {
  const end = async () => {
    if (await change("DELETE", `/v1/jobs/${job.job}`, { said })) await look();
  };
  const ask = () => sure(t("Cancel this job?"), t("Nothing is kept. Requesting the report again starts a new job."), t("Cancel it"), end);
  return button(t("Cancel …"), ask, { class: "quiet", "aria-label": t("Cancel the job for {kind}", { kind: job.kind }) });
}

// A row is made once and its cells are written anew, so that the button that has the focus keeps it.
function row(job) {
  const cells = { state: h("td"), done: h("td"), seconds: h("td", { class: "right" }), outcome: h("td", { class: "text" }), step: h("td") };
  if (manages && !ended(job)) cells.step.append(cancel(job));
  const line = h("tr", {}, h("td", {}, job.kind), h("td", {}, moment(job.created_at)), Object.values(cells));
  return { line, cells, told: "" };
}

function update(job) {
  if (!rows.has(job.job)) rows.set(job.job, row(job));
  const one = rows.get(job.job);
  const told = JSON.stringify(job);
  if (one.told === told) return one.line;
  one.told = told;
  fill(one.cells.state, STATES[job.state] ?? job.state);
  fill(one.cells.done, bar(job));
  fill(one.cells.seconds, t("{n} s", { n: figure(job.seconds) }));
  fill(one.cells.outcome, outcome(job));
  if (ended(job)) fill(one.cells.step);
  return one.line;
}

function frame() {
  const heads = [t("Report"), t("Asked"), t("State"), t("Done"), t("Time"), t("Outcome"), t("What to do")];
  const body = h("tbody");
  fill(place, h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": t("Jobs") },
    h("table", {}, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), body)), below, fetched([listed(asked.path)]));
  return body;
}

let body = null;
let rest = "";

// What is below stays where nothing of it changes, so that its button keeps the focus.
function further() {
  const now = `${asked.n} ${asked.next}`;
  if (now !== rest) fill(below, asked.rest(look));
  rest = now;
}

async function show() {
  const found = await asked.read();
  if (!found.length) fill(place, h("p", {}, t("There are no long computations yet. Stability, validation and the planner create them.")));
  else {
    body ??= frame();
    const lines = found.map(update);
    if (lines.length !== body.children.length || lines.some((line, n) => line !== body.children[n])) fill(body, lines);
    further();
  }
  return found.some((job) => !ended(job));
}

const look = () => tried(show, said);

async function follow() {
  let goesOn = true;
  try {
    goesOn = await show();
    say(said, "");
  } catch (error) {
    if (error instanceof Unreachable) say(said, t("The server cannot be reached; trying again."));
    else if (error instanceof Refused) {
      tell(said, error.message);
      goesOn = comesBack(error.status);
    } else throw error;
  }
  if (goesOn) setTimeout(follow, EVERY);
}

await reading(place, async () => {
  if (await show()) setTimeout(follow, EVERY);
})();
