// What a job makes, waited for where it will stand: how far it is, and a way to cancel it.

import { button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { follow, stand } from "./following.js";
import { change, resting, say } from "./parts.js";

const MOST_ASKED = 6; // times, while others go on with what is computed

// → the job once it has ended; null where it cannot be looked at, or nobody waits for it any more.
export async function ended(job, { place, said, waits = () => true }) {
  const address = `/v1/jobs/${job.job}`;
  const bar = h("progress", { "aria-label": t("Computed parts") });
  const told = h("p");
  const before = [...place.childNodes];
  const cancel = button(t("Cancel"), () => resting(cancel, () => change("DELETE", address, { said })), { class: "danger" });
  fill(place, bar, told, h("p", { class: "actions" }, cancel));
  const found = await follow(address, { show: (one) => stand(one, bar, told), said, waits });
  if (!waits()) return null;
  fill(place, before);
  return found;
}

// What is asked for, whether at once or by a job: asked again once the job is done. → null where it is refused, or the
// job was cancelled or failed, which is told.
export async function settled(ask, { place, said }) {
  let answer = await ask();
  for (let asked = 1; answer?.status === 202; asked += 1) {
    if (asked > MOST_ASKED) {
      say(said, t("This campaign is changing faster than the report can be computed. Pause the campaign, or try again when nobody is judging."));
      return null;
    }
    const job = await ended(answer.body, { place, said });
    if (!job) return null;
    if (job.state !== "done") {
      await change("GET", `/v1/jobs/${job.job}/report`, { said });
      return null;
    }
    answer = await ask();
  }
  return answer;
}

// What a job made, where the answer is a job, else the answer itself. waits(): whether somebody still waits for it.
// → null where there is none, which is told.
export async function outcome(answer, { place, said, waits = () => true }) {
  if (answer?.status !== 202) return answer?.body ?? null;
  const job = await ended(answer.body, { place, said, waits });
  const made = job && (await change("GET", `/v1/jobs/${job.job}/report`, { said }));
  return made?.body ?? null;
}
