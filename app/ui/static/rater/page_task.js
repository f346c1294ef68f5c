// The task page: get a task, show it, hand it in, go on.

import { call, comesBack, insist, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { earlier } from "./elsewhere.js";
import { holdFocus } from "./hold_focus.js";
import * as keep from "./keep.js";
import { loadMessages, t } from "../shared/messages.js";
import { clear, clearAll, notice } from "./notices.js";
import { forgetTask, keepMedia, keepTask, keptTask, noteStored, startWorker } from "./offline.js";
import { Outbox } from "./outbox.js";
import { statusLine } from "./status.js";
import { tellSignedOut } from "./unsaved.js";
import { Work } from "./work.js";

const { campaign, rater, home, questionsAfter, tutorial } = $("main").dataset;
const TO_DO_FIRST = { consent: `${home}/consent`, qualification: `${home}/test`, questionnaire: `${home}/questionnaire` };
const AT_THE_END = new Set(["finished", "capacity"]); // then the last questions are asked

const WHY = {
  finished: () => t("There are no more tasks for you. Thank you."),
  nothing_planned: () => t("No work is planned for you yet. Ask the person who sent you the link. This page checks again automatically."),
  wait: () => t("There is no task right now; others are working on the remaining ones. This page checks again automatically."),
  paused: () => t("Your work is paused. Ask the person who sent you the link."),
  capacity: () => t("You have judged as much as you agreed to do. Thank you."),
  not_enrolled: () => t("You are no longer enrolled in this campaign."),
};

await loadMessages();
keepFor();
const outbox = new Outbox();
const status = statusLine(outbox);
let work = null;
outbox.addEventListener("stored", (event) => {
  noteStored(event.detail);
  clear("kept");
});
outbox.addEventListener("state", () => tellSignedOut(outbox));
for (const kind of ["conflict", "refused"]) outbox.addEventListener(
  kind,
  ({ detail }) => detail.task !== work?.task.task && earlier(outbox, detail),
);
addEventListener("focus", comeBack);
history.scrollRestoration = "manual"; // `whereabouts.js` does it, once there is something to scroll to
holdFocus($("#main"), () => (work?.row ? work.row.focus() : $("#work").focus()));
new ResizeObserver(([{ target }]) => {
  document.documentElement.style.setProperty("--overhead", `${target.offsetHeight}px`);
}).observe($("#overhead"));
await next();

// Another window of this browser may have signed in meanwhile: this page goes on with that session, and nothing is lost.
async function comeBack() {
  if (!outbox.signedOut || !keep.lasting()) return;
  const answer = await once("GET", "/v1/session");
  if (answer?.ok && answer.body.me.role === "rater") location.reload();
}

function keepFor() {
  keep.keepFor(campaign, rater);
}

// What somebody wrote to the rater stays until they say that they read it. Work never waits for it.
async function showMessages() {
  const answer = await once("GET", "/v1/me/messages");
  for (const message of answer?.ok ? answer.body.items.filter((one) => one.read_at === null).reverse() : []) {
    const name = `message-${message.id}`;
    const read = button(t("I have read it"), async () => {
      if (await once("POST", `/v1/me/messages/${message.id}/read`)) clear(name);
    });
    notice(name, t("Message to you: {text}", { text: message.text }), { actions: [read], close: false });
  }
}

async function next() {
  work = null;
  clearAll();
  showMessages();
  const away = t("The server cannot be reached. Trying again …");
  const unreachable = () => notice("unreachable", away, { close: false });
  const path = `/v1/campaigns/${encodeURIComponent(campaign)}/lease`;
  const kept = await keptTask(campaign, rater);
  const answer = kept ? await once("POST", path) : await insist("POST", path, {}, unreachable);
  clear("unreachable");
  if (answer === null) return goOnWith(kept);
  if (answer.status === 401) return location.replace(`/#next=${home}`);
  if (!answer.ok) return stuck(answer);
  const { task, why, retry_after: retryAfter } = answer.body;
  if (task === null) return nothing(why, retryAfter);
  if (task.guidelines !== null && keep.get("guidelines") !== task.guidelines) return first(task.guidelines);
  if (tutorial === "outstanding") return location.replace(`${home}/tutorial`);
  const forms = await insist("GET", `/v1/tasks/${task.task}/forms`, {}, unreachable);
  clear("unreachable");
  explainAnother(task);
  await keepTask(campaign, rater, task, forms.body.forms);
  begin(task, forms.body.forms);
  startWorker();
  keepMedia(work.files, explainMedia);
  return outbox.begin();
}

// → the answer, or null where there is none now.
async function once(method, path) {
  try {
    const answer = await call(method, path);
    return comesBack(answer.status) ? null : answer;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return null;
  }
}

// The page was loaded while the server is away: the task is as the browser kept it.
function goOnWith({ task, forms }) {
  notice(
    "kept",
    t("The server cannot be reached. This is the copy of your task stored in this browser. Your judgments are sent when the connection returns."),
    { close: false },
  );
  begin(task, forms);
  return outbox.begin();
}

function explainMedia(outcome) {
  document.documentElement.dataset.media = outcome.replace(" ", "-");
  if (outcome === "too large") notice(
    "media",
    t("This task has audio or video that is too large to be stored for work without a connection."),
  );
}

function begin(task, forms) {
  work = new Work({ task, forms, outbox, status, next });
  work.show();
}

// Guidelines are read before the first task, and again when they are another version.
function first(version) {
  const seen = keep.get("guidelines");
  if (seen === null) return location.replace(`${home}/guidelines`);
  keep.put("guidelines", version);
  notice(
    "guidelines",
    t("The guidelines have changed."),
    { actions: [h("a", { href: `${home}/guidelines` }, t("Read them"))] },
  );
  return next();
}

// The task of before went to somebody else in the meantime.
function explainAnother(task) {
  const before = keep.get("task");
  if (before && before !== task.task) {
    notice(
      "another",
      t(
        "Your time on the previous task ran out, and somebody else continued it. Your judgments are kept. This is a new task.",
      ),
    );
  }
  keep.put("task", task.task);
}

function nothing(why, retryAfter) {
  forgetTask();
  if (TO_DO_FIRST[why]) return location.replace(TO_DO_FIRST[why]);
  outbox.begin();
  if (questionsAfter === "outstanding" && AT_THE_END.has(why)) return location.replace(`${home}/questionnaire#after`);
  status.idle();
  fill(
    $("#work"),
    h(
      "div",
      { class: "empty" },
      h("p", { class: "title big" }, (WHY[why] ?? WHY.finished)()),
      h("a", { class: "button plain", href: `${home}/codes` }, t("Your completion codes")),
    ),
  );
  if (retryAfter) setTimeout(next, Math.max(retryAfter, 2) * 1000);
  return undefined;
}

function stuck(answer) {
  fill(
    $("#work"),
    h("p", { class: "big" }, answer.body?.title ?? t("Something went wrong.")),
    button(t("Try again"), next),
  );
}
