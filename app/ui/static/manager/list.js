// How far each campaign of the list is, one after the other: the list itself never waits for it. A choice in the form
// above the list shows it at once.

import { call, Unreachable } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { held } from "./deadline.js";
import { figure, moment, percent } from "./parts.js";

// By judgments of those that are planned, so that a task half done counts; by hand-ins where more is judged than that.
const judged = ({ total }) => Math.min(1, total.judgments / Math.max(total.segments, total.items, 1));

function shown(progress) {
  const { share, total, pace, forecast, deadline } = progress;
  return [
    h("progress", { max: "1", value: String(Math.max(share ?? 0, judged(progress))), "aria-label": t("Share judged") }),
    h("span", {}, count(total.judgments, "{n} judgment, {new} in the last day", "{n} judgments, {new} in the last day", { new: figure(pace.judgments_last_day) })),
    h("span", {}, count(total.tasks, "{share} of {n} task", "{share} of {n} tasks", { share: percent(share) })),
    forecast ? h("span", {}, t("to end {when}", { when: moment(forecast.median) })) : null,
    held(deadline),
  ];
}

const form = document.querySelector("form.list-tools");
for (const field of form?.querySelectorAll("select") ?? []) field.addEventListener("change", () => form.requestSubmit());

try {
  for (const place of document.querySelectorAll("[data-progress]")) {
    const answer = await call("GET", place.dataset.progress);
    if (answer.ok && answer.body.total.tasks) fill(place, shown(answer.body));
  }
} catch (error) {
  if (!(error instanceof Unreachable)) throw error;
}
