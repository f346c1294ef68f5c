// A job: how far it is, and a way to cancel it; once it is done the page comes again with the report.

import { asks } from "../shared/asked.js";
import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { follow, stand } from "./following.js";
import { change, foreign, resting } from "./parts.js";

const place = $("#job");
const bar = $("progress", place);
const told = $("[data-told]", place);
const said = $(".said", place);
const cancel = $("[data-cancel]", place);
const address = `/v1/jobs/${place.dataset.job}`;

function ended(job) {
  cancel?.remove();
  if (job.state === "done") return location.reload();
  fill(told, job.state === "cancelled" ? t("Cancelled. The parts already computed are kept.") : foreign(`${job.error.title}: ${job.error.detail}`));
  bar.remove();
  return place.append(h("p", {}, h("a", { class: "button", href: location.href, onclick: asks }, t("Retry"))));
}

cancel?.addEventListener("click", () => resting(cancel, () => change("DELETE", address, { said })));
follow(address, { show: (job) => stand(job, bar, told), said }).then((job) => job && ended(job));
