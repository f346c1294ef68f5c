// What other windows do with the same task: they tell each other, and where two differ, the rater decides.

import { why } from "../shared/api.js";
import { button, h } from "../shared/dom.js";
import * as keep from "./keep.js";
import { t } from "../shared/messages.js";
import { named } from "./missing.js";
import { clear, notice } from "./notices.js";
import { TYPED } from "./pending.js";

// Windows of one browser share what is kept, so a change in one is a change in all.
export function shared(work, signal) {
  const { answers, outbox, task } = work;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("plumbline") : null;
  signal.addEventListener("abort", () => channel?.close());
  outbox.addEventListener("stored", ({ detail }) => channel?.postMessage(detail), { signal });
  channel?.addEventListener("message", ({ data }) => {
    if (data.task !== task.task) return;
    const answer = answers.at(data.place);
    if (!answer || data.revision <= answer.revision) return;
    if (outbox.entry(data.task, data.place)) answers.stored(data.place, data.payload, data.revision);
    else answers.take(data.place, data.payload, data.revision, "saved");
  });
  keep.watch((key, value) => {
    if (signal.aborted || value === null) return;
    const of = (start) => {
      const whole = `${start}${task.task}:`;
      return key.startsWith(whole) ? key.slice(whole.length) : null;
    };
    const [said, draft] = [of(TYPED), of("d:")];
    const place = said?.split("@")[0];
    if (said !== null && outbox.latest(key, task.task, place)) answers.take(place, value.payload, 0, "waiting");
    else if (draft !== null) answers.takeDraft(draft, value);
  });
}

// Another browser or machine said something else since: both stay until the rater has chosen.
export function conflict(work, { task, place, payload, stored }) {
  const answer = task === work.task.task ? work.answers.at(place) : null;
  if (!answer) return;
  answer.state = "conflict";
  work.answers.changed(answer);
  const name = `conflict-${place}`;
  const choose = (payloadChosen) => () => {
    work.outbox.take(task, place);
    work.answers.take(place, payloadChosen, 0, "saved");
    Object.assign(answer, { revision: stored.revision, stored: stored.payload });
    work.answers.send(answer, { now: true });
    work.answers.changed(answer, true);
    clear(name);
  };
  const both = [
    t("{place} was also answered in another window.", { place: named(work, answer) }),
    t("There: {said}", { said: told(stored.payload) }),
    t("Here: {said}", { said: told(payload) }),
  ];
  const actions = [
    button(t("Keep my answer from here"), choose(payload)),
    button(t("Use my answer from there"), choose(stored.payload), { class: "quiet" }),
  ];
  notice(name, h("span", { class: "lines" }, both.map((line) => h("span", {}, line))), { close: false, actions });
}

// What becomes of answers to a task that is not on the screen any more.
export function earlier(outbox, { task, place, answer }) {
  const name = `earlier-${task}-${place}`;
  const letGo = () => {
    outbox.take(task, place);
    clear(name);
  };
  const said = answer
    ? t("An answer in a previous task was not accepted: {why}", { why: why(answer) })
    : t("An answer in a previous task was also given in another window; that one is kept.");
  notice(name, said, { close: false, actions: [button(t("Discard this answer"), letGo)] });
}

function told(payload) {
  if (payload === null) return "–";
  const { protocol, ...said } = payload;
  return Object.values(said).map(inShort).join(" · ");
}

function inShort(value) {
  if (Array.isArray(value)) return `[${value.length}]`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
