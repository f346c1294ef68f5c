// How the work stands against the deadline.

import { h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { figure, moment } from "./parts.js";

const verdict = ({ on_time: onTime, tasks_left: left }) => {
  if (onTime === null) return t("too early to tell");
  if (left === 0) return t("everything is handed in");
  return onTime ? t("on time at the current pace") : t("late at the current pace");
};

// Of a list: when, and whether it will be met.
export function held(deadline) {
  if (!deadline) return null;
  return h("span", {}, t("deadline {when}: {verdict}", { when: moment(deadline.at), verdict: verdict(deadline) }));
}

// Of a page: [name, value, beside].
export function fact(deadline) {
  if (!deadline) return null;
  const { tasks_a_day: needed, tasks_left: left } = deadline;
  const pace = left === 0 ? "" : needed === null ? t("passed") : t("{n} tasks per day needed", { n: figure(needed, 1) });
  return [t("Deadline"), moment(deadline.at), [verdict(deadline), pace].filter(Boolean).join("; ")];
}
