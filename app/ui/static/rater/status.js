// Where the rater is, always in view: how much is judged, whether all of it is saved, the time that counts.

import { $, fill, h } from "../shared/dom.js";
import { count, number, t } from "../shared/messages.js";
import { duration } from "./duration.js";
import { call, Unreachable } from "../shared/api.js";
import { unsaved } from "./saving.js";

const SAID = {
  saved: () => t("saved"),
  saving: () => t("saving …"),
  offline: () => t("not saved: offline"),
  "signed-out": () => t("signed out"),
  conflict: () => t("not saved: two different answers"),
  refused: () => t("not saved: not accepted"),
};

// Beside the state: how many answers are in this browser alone, and how many are begun.
function besides(state, facts, begun) {
  const kept = unsaved(facts);
  if (state !== "saved" && state !== "saving" && kept) return count(kept, "{n} answer in this browser only", "{n} answers in this browser only");
  return state === "saved" && begun ? count(begun, "{n} answer begun", "{n} answers begun") : "";
}

export function statusLine(outbox) {
  const done = h("span", { class: "progress-words" });
  const bar = h("progress", { max: "1", value: "0", "aria-label": t("Progress") });
  const save = h("span", { class: "save", role: "status" });
  const time = h("a", { class: "time", href: `${$("main").dataset.home}/hours` }, t("My hours"));
  fill($("#status"), done, bar, save, time);
  let begun = 0;
  const saving = () => {
    const { state, facts } = outbox;
    const said = [SAID[state](), besides(state, facts, begun)].filter(Boolean).join(" · ");
    save.dataset.state = state;
    if (save.textContent !== said) save.textContent = said;
  };
  outbox.addEventListener("state", saving);
  saving();
  const idle = (yes) => {
    done.hidden = yes;
    bar.hidden = yes;
  };
  idle(true);
  return {
    idle: () => {
      begun = 0;
      idle(true);
      saving();
    },
    progress(judged, total, unfinished) {
      idle(false);
      done.textContent = t("{judged} of {total} judged", { judged: number(judged), total: number(total) });
      bar.max = Math.max(total, 1);
      bar.value = judged;
      begun = unfinished;
      saving();
    },
    async hours() {
      try {
        const answer = await call("GET", `/v1/me/hours?utc_offset=${-new Date().getTimezoneOffset()}`);
        if (answer.ok) time.textContent = t(
          "Time counted: {time}",
          { time: duration(answer.body.hours.payable_seconds) },
        );
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
      }
    },
  };
}
