// A job, looked at again and again until it has ended.

import { call, Unreachable, why } from "../shared/api.js";
import { fill } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { figure, say, sentence, tell } from "./parts.js";

const EVERY = 1000; // milliseconds
const ENDED = ["done", "failed", "cancelled"];
const STATES = { queued: t("queued"), running: t("running"), done: t("done"), failed: t("failed"), cancelled: t("cancelled") };

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Show how far a job is: in a bar, and in words beside it.
export function stand(job, bar, place) {
  if (job.total) {
    bar.max = job.total;
    bar.value = job.done;
  }
  const parts = job.total ? t("{n} of {total} parts", { n: figure(job.done), total: figure(job.total) }) : t("reading the data");
  if (job.waiting) fill(place, `${STATES[job.state]}. `, sentence(job.waiting));
  else fill(place, `${STATES[job.state]}: ${parts}, ${figure(job.seconds)} s`);
}

// → the job once it has ended; null where it cannot be looked at, or nobody waits for it any more.
export async function follow(address, { show, said, waits = () => true }) {
  while (waits()) {
    try {
      const answer = await call("GET", address);
      if (answer.ok) {
        say(said, "");
        show(answer.body);
        if (ENDED.includes(answer.body.state)) return answer.body;
      } else {
        tell(said, why(answer));
        if (answer.status < 500) return null;
      }
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      say(said, t("The server cannot be reached; trying again."));
    }
    await pause(EVERY);
  }
  return null;
}
