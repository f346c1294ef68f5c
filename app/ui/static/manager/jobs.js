// Jobs, the newest first; while some are under way, how far they are is read again and again.

import { comesBack, Unreachable } from "../shared/api.js";
import { $, button, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Browse } from "./browse.js";
import { api, badge, change, figure, foreign, here, main, moment, NONE, Refused, say, sentence, sure, tell } from "./parts.js";

const said = $("#said");
const manages = ["manager", "admin"].includes(main.dataset.role);
const STATES = { queued: t("waiting"), running: t("running"), done: t("done"), failed: t("failed"), cancelled: t("cancelled") };
const LOOKS = { queued: "waiting", running: "waiting", done: "done", failed: "fail", cancelled: "none" };
const EVERY = 2000; // milliseconds
let next; // look

const ended = (job) => ["done", "failed", "cancelled"].includes(job.state);

function bar(job) {
  if (ended(job)) return job.total ? t("{done} of {total} parts", { done: figure(job.done), total: figure(job.total) }) : NONE;
  const share = job.total ? { max: String(job.total), value: String(job.done) } : {};
  return h("progress", { ...share, "aria-label": t("Computed parts") });
}

function outcome(job) {
  const page = h("a", { href: `${here}/jobs/${job.job}` }, t("Open the report"));
  if (job.state === "done") return [page, " · ", h("a", { href: job.report }, "JSON")];
  if (job.state === "failed") return [foreign(`${job.error.title}: ${job.error.detail}`), " ", page];
  return job.waiting ? sentence(job.waiting) : NONE;
}

function cancel(job) {
  if (!manages || ended(job)) return null;
  const end = async () => {
    if (await change("DELETE", `/v1/jobs/${job.job}`, { said })) await list.show();
  };
  const ask = () => sure(t("Cancel this job?"), t("The parts already computed are kept. Requesting the report again continues from them."), t("Cancel it"), end);
  return button(t("Cancel …"), ask, { class: "ghost", "aria-label": t("Cancel the job for {kind}", { kind: job.kind }) });
}

const list = new Browse($("#jobs"), {
  label: t("Jobs"),
  path: `${api}/jobs`,
  key: (job) => job.job,
  filters: [{ name: "state", label: t("State"), options: [["", t("all")], ...Object.entries(STATES)] }],
  columns: [
    { head: t("Report"), cell: (job) => job.kind },
    { head: t("State"), cell: (job) => badge(LOOKS[job.state] ?? "none", STATES[job.state] ?? job.state) },
    { head: t("Requested"), cell: (job) => moment(job.created_at), look: "wide" },
    { head: t("Done"), cell: bar },
    { head: t("Time"), cell: (job) => t("{n} s", { n: figure(job.seconds) }), look: "right" },
    { head: t("Outcome"), cell: outcome, look: "text" },
    ...(manages ? [{ head: t("What to do"), cell: cancel, look: "steps" }] : []),
  ],
  drawn: follow,
  nothing: { icon: "clock", title: t("There are no long computations yet."), text: t("Stability, validation and the planner create them.") },
});

// Whoever looks on reads how far those are that are shown, until all of these have ended.
function follow() {
  if (list.rows.every(ended)) clearTimeout(next);
  else lookAgain();
}

function lookAgain() {
  clearTimeout(next);
  next = setTimeout(look, EVERY);
}

async function look() {
  try {
    await list.read();
    say(said, "");
  } catch (error) {
    if (error instanceof Unreachable) say(said, t("The server cannot be reached; trying again."));
    else if (error instanceof Refused) tell(said, error.said);
    else throw error;
    if (error instanceof Unreachable || comesBack(error.status)) lookAgain();
  }
}

await list.open();
