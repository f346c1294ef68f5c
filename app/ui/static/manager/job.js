// A job: how far it is, and a way to cancel it; once it is done the page comes again with the report.

import { call, Unreachable, why } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { change, figure, foreign, resting, say, tell } from "./parts.js";

const place = $("#job");
const bar = $("progress", place);
const told = $("[data-told]", place);
const said = $(".said", place);
const cancel = $("[data-cancel]", place);
const address = `/v1/jobs/${place.dataset.job}`;
const EVERY = 1000; // milliseconds
const STATES = { queued: t("queued"), running: t("running"), done: t("done"), failed: t("failed"), cancelled: t("cancelled") };
let over = false;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function show(job) {
  if (job.total) {
    bar.max = job.total;
    bar.value = job.done;
  }
  const parts = job.total ? t("{n} of {total} parts", { n: figure(job.done), total: figure(job.total) }) : t("reading the data");
  fill(told, `${STATES[job.state]}: `, job.waiting ? foreign(job.waiting) : parts, `, ${figure(job.seconds)} s`);
}

function ended(job) {
  over = true;
  cancel?.remove();
  if (job.state === "done") return location.reload();
  fill(told, job.state === "cancelled" ? t("Cancelled. Nothing is kept.") : foreign(`${job.error.title}: ${job.error.detail}`));
  bar.remove();
  return place.append(h("p", {}, h("a", { class: "button", href: location.href }, t("Ask again"))));
}

async function follow() {
  while (!over) {
    try {
      const answer = await call("GET", address);
      if (!answer.ok) {
        tell(said, why(answer));
        if (answer.status < 500) return;
      } else {
        say(said, "");
        show(answer.body);
        if (["done", "failed", "cancelled"].includes(answer.body.state)) return ended(answer.body);
      }
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      say(said, t("The server cannot be reached; trying again."));
    }
    await pause(EVERY);
  }
}

cancel?.addEventListener("click", () => resting(cancel, () => change("DELETE", address, { said })));
follow();
