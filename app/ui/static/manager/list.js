// How far each campaign of the list is, one after the other: the list itself never waits for it.

import { call, Unreachable } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { held } from "./deadline.js";
import { figure, moment, percent } from "./parts.js";

function shown({ share, total, pace, forecast, deadline }) {
  return [
    h("progress", { max: "1", value: String(share ?? 0), "aria-label": t("Share handed in") }),
    h("span", {}, count(total.tasks, "{share} of {n} task", "{share} of {n} tasks", { share: percent(share) })),
    h("span", {}, count(total.judgments, "{n} judgment, {new} in the last day", "{n} judgments, {new} in the last day", { new: figure(pace.judgments_last_day) })),
    forecast ? h("span", {}, t("to end {when}", { when: moment(forecast.median) })) : null,
    held(deadline),
  ];
}

try {
  for (const place of document.querySelectorAll("[data-progress]")) {
    const answer = await call("GET", place.dataset.progress);
    if (answer.ok && answer.body.total.tasks) {
      fill(place, shown(answer.body));
      place.hidden = false;
    }
  }
} catch (error) {
  if (!(error instanceof Unreachable)) throw error;
}
