// What a person has to do now, and how the work goes: from the progress, the hours and the plan that the page has read.

import { h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { figure, foreign, here, hours, NONE } from "./parts.js";

const MANAGES = !["viewer", "coordinator"].includes(document.querySelector("#main").dataset.role);
const DAY = 24 * 3600 * 1000; // milliseconds
const HIGH = 72; // pixels, of the bars of days
const SHOWN = 28; // days

const disputes = (paid) => paid.reduce((sum, one) => sum + one.open_disputes, 0);
const lead = (page, text) => (MANAGES ? h("a", { href: `${here}${page}` }, text) : text);

// Raters who have work left and have not been seen for a day, or never; only where the campaign is open.
const idle = ({ state, raters }) => (state === "open" ? (raters ?? []).filter((one) => one.state === "active" && one.tasks_left > 0 && (!one.last_at || Date.now() - new Date(one.last_at) > DAY)) : []);

function duties(progress, { paid, plan, quality }) {
  const waiting = idle(progress).filter((one) => one.last_at);
  const unseen = idle(progress).filter((one) => !one.last_at);
  return [
    progress.open_flags && lead("/problems", count(progress.open_flags, "{n} flag waits for an answer", "{n} flags wait for an answer")),
    disputes(paid) && lead("/problems", count(disputes(paid), "{n} dispute about hours is open", "{n} disputes about hours are open")),
    quality?.fail && lead("/quality", count(quality.fail, "{n} rater fails the control items", "{n} raters fail the control items")),
    plan?.stale?.length && [lead(progress.total.judgments ? "/replan" : "/design", t("The plan is older than the campaign:")), " ", foreign(plan.stale[0])],
    unseen.length && lead("/raters", count(unseen.length, "{n} rater has not begun: did they get a link?", "{n} raters have not begun: did they get a link?")),
    waiting.length && lead("/raters", count(waiting.length, "{n} rater has work left and has not been seen for a day", "{n} raters have work left and have not been seen for a day")),
    progress.leases.n_expired && count(progress.leases.n_expired, "{n} lease expired", "{n} leases expired"),
    progress.deadline?.on_time === false && t("At this pace the deadline will be missed."),
  ].filter(Boolean);
}

export function needsNow(progress, known) {
  const list = duties(progress, known);
  return h("section", { class: "card needs", "aria-label": t("What needs your attention") }, h("h2", {}, t("What needs your attention")),
    list.length ? h("ul", {}, list.map((one) => h("li", {}, one))) : h("p", { class: "quiet" }, t("Nothing: there are no open flags, disputes or delays.")));
}

// Verdicts on the control items, of the newest report that is stored.
export function verdicts(quality) {
  const parts = [["pass", t("pass|control items")], ["fail", t("fail|control items")], ["not_testable", t("too few|control items")]];
  return [t("Control items"), quality ? parts.map(([name, word]) => h("span", { class: `control-verdict is-${quality[name] ? name : "none"}` }, `${figure(quality[name] ?? 0)} ${word} `)) : NONE, MANAGES ? h("a", { href: `${here}/quality` }, quality ? t("Evidence") : t("Not computed yet")) : null];
}

export function workedHours(paid, plan) {
  const seconds = paid.reduce((sum, one) => sum + one.payable_seconds, 0);
  const planned = plan?.report?.total?.hours;
  return [t("Hours"), hours(seconds), planned ? t("of {hours} h planned", { hours: figure(planned, 1) }) : null];
}

function everyDay(days) {
  const counts = new Map(days.map((one) => [one.day, one.judgments]));
  const last = new Date(days.at(-1).day);
  const first = Math.max(new Date(days[0].day), last - (SHOWN - 1) * DAY);
  const all = [];
  for (let at = first; at <= last; at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    all.push({ day, judgments: counts.get(day) ?? 0 });
  }
  return all;
}

// A bar a day; the sizes are attributes, for the policy allows no inline styles.
export function overTime(days) {
  const box = h("section", { class: "days", "aria-label": t("Judgments by day") }, h("h2", {}, t("Judgments by day")));
  if (!days?.length) return box.append(h("p", { class: "quiet" }, t("No judgments yet."))), box;
  const all = everyDay(days);
  const most = Math.max(...all.map((one) => one.judgments));
  const svg = (tag, props, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const bars = all.map((one, i) => svg("rect", { x: i * 20 + 2, width: 16, y: HIGH - (one.judgments / most) * HIGH, height: Math.max(one.judgments ? 1 : 0, (one.judgments / most) * HIGH), rx: 2 }, svg("title", {}, `${one.day}: ${figure(one.judgments)}`)));
  const told = count(all.length, "{judgments} judgments in the last day, revisions included.", "{judgments} judgments in the last {n} days, revisions included; at most {most} on one.", { judgments: figure(all.reduce((sum, one) => sum + one.judgments, 0)), most: figure(most) });
  box.append(svg("svg", { viewBox: `0 0 ${SHOWN * 20} ${HIGH}`, height: HIGH, width: "100%", preserveAspectRatio: "xMinYMax meet", role: "img", "aria-label": told }, ...bars), h("p", { class: "quiet" }, told));
  return box;
}
