// A task as raters would see it, on a page of managers. Nothing of it leaves the page.

import { $, button, fill, h } from "../shared/dom.js";
import { number, t } from "../shared/messages.js";
import * as keep from "../rater/keep.js";
import { Work } from "../rater/work.js";

// What an outbox is to a task, for answers that go nowhere: each is at once as good as stored.
class NoOutbox extends EventTarget {
  facts = { waiting: 0, conflicts: 0, refused: 0, away: false, signedOut: false };
  state = "saved";
  signedOut = false;
  entries = () => new Map();
  entry = () => null;
  latest = () => false;
  take = () => {};
  flush = async () => true;

  put(task, at, path, payload, seen) {
    const detail = { task, place: at, payload, revision: seen + 1, said: { kept: "latest" } };
    queueMicrotask(() => this.dispatchEvent(new CustomEvent("stored", { detail })));
  }
}

// The line above the task, without hours: nobody's time is counted here.
const status = {
  idle: () => {},
  hours: () => {},
  progress: (judged, total) => fill($("#status"), h("span", { class: "progress-words" }, t("{judged} of {total} judged", { judged: number(judged), total: number(total) })),
    h("progress", { max: String(Math.max(total, 1)), value: String(judged), "aria-label": t("Progress") }), h("span", { class: "save", data: { state: "saved" } }, t("Preview: nothing is stored"))),
};

const beats = Object.assign(new EventTarget(), { note: () => {}, beat: async () => {}, stop: () => {} });

class Preview extends Work {
  event() {}

  report() {}

  async submit() {
    const again = button(t("Start again"), () => this.next());
    this.end();
    fill($("#work"), h("section", { class: "completed", tabindex: "-1" }, h("h2", {}, t("Raters would hand in now.")),
      h("p", {}, t("They would get the next task, or their completion code. Nothing was stored.")), h("p", { class: "actions" }, again)));
    again.focus();
  }
}

let work = null;

// In the place of the task that was shown before. again: shows it anew.
export function showTask({ task, forms }, again) {
  work?.end();
  for (const key of keep.keys("")) keep.drop(key);
  work = new Preview({ task, forms, outbox: new NoOutbox(), status, next: again, beats });
  work.show();
}
