// One rater: what they did, how well and how long, what they reported, how to reach them, and what can be done.

import { $, button, fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { ask } from "./asking.js";
import { Browse } from "./browse.js";
import { changeRaters } from "./changed_raters.js";
import { giveLink } from "./links.js";
import { actorName, all, api, badge, brief, change, facts, figure, foreign, get, here, hours, icon, main, moment, NONE, percent, resting, table, warned } from "./parts.js";
import { reading } from "./reading.js";
import { toast } from "./toast.js";

const place = $("#rater");
const [said, made] = [$("#said"), $("#made")];
const key = place.dataset.rater;
const path = `${api}/raters/${encodeURIComponent(key)}`;
const manages = main.dataset.role !== "coordinator";
const LONG = 120_000; // milliseconds
const UNAVAILABLE = 503;
const ENROLMENT = { active: t("active"), paused: t("paused"), left: t("left"), erased: t("erased") };
const VERDICTS = { pass: t("passed"), fail: t("failed"), not_testable: t("not testable") };

const DONE = { active: t("The rater is active again."), paused: t("The rater is paused."), left: t("The rater has left. The link stops working, and a replan gives open work to others.") };

const several = changeRaters({ said, heard: ({ warnings }) => fill(made, warned(warnings)) });
const set = (state) => several.set({ show: () => show(), done: () => show() }, [{ key }], { state }, () => DONE[state]);

function steps(rater) {
  if (rater.state === null || rater.state === "erased") return null;
  const go = (name, label, state) => {
    const step = button([icon(name), label], () => resting(step, () => set(state)), { class: "quiet" });
    return step;
  };
  const link = button([icon("link"), t("New link")], () => resting(link, () => giveLink(rater, made, said)));
  return h("p", { class: "actions" }, rater.state === "left" ? null : link,
    manages ? [
      rater.state === "active" ? go("pause", t("Pause"), "paused") : go("play", rater.state === "paused" ? t("Resume") : t("Reinstate"), "active"),
      rater.state === "left" ? null : go("left", t("Has left"), "left"),
      h("a", { class: "button plain", href: `${here}/items?${new URLSearchParams({ rater: key })}` }, icon("texts"), t("See the judgments")),
    ] : null);
}

// A worker counts a very large campaign first. Everything else about the rater is shown meanwhile.
const counts = () => get(`${api}/progress`).catch((error) => {
  if (error.status !== UNAVAILABLE) throw error;
  return { missing: error.said };
});

// What was done. times: null where a coordinator of another team asks.
function work(rater, progress, times) {
  const mine = progress?.raters?.find((one) => one.rater === key);
  const unless = (text) => (progress?.missing ? NONE : text);
  const paid = times?.raters.find((one) => one.rater === key);
  return [
    facts([
      [t("State"), badge(rater.state ?? "none", rater.state ? ENROLMENT[rater.state] ?? rater.state : t("not enrolled"))],
      [t("Team"), rater.team ?? NONE],
      [t("Judgments"), unless(figure(mine?.judgments ?? 0)), mine ? t("{n} in the last day", { n: figure(mine.judgments_last_day) }) : null],
      [t("Tasks"), unless(t("{done} of {all}", { done: figure(mine?.tasks_handed_in ?? 0), all: figure((mine?.tasks_handed_in ?? 0) + (mine?.tasks_left ?? 0)) })), mine?.pace ? t("{n} tasks a day", { n: figure(mine.pace, 1) }) : null],
      [t("Hours"), paid ? hours(paid.payable_seconds) : NONE, paid?.adjusted_seconds ? t("{n} of them added by hand", { n: hours(paid.adjusted_seconds) }) : null],
      ...(paid?.heard_seconds ? [[t("Audio and video played"), hours(paid.heard_seconds)]] : []),
      [t("Last answer"), moment(mine?.last_at)],
    ]),
    progress?.missing ? h("p", { class: "note" }, progress.missing) : null,
    paid?.days.length ? table(t("Hours by day"), [[t("Day"), (one) => one.day], [t("Hours"), (one) => hours(one.active_seconds), "right"], [t("Added or subtracted"), (one) => (one.adjusted_seconds ? hours(one.adjusted_seconds) : null), "right"]], paid.days.slice(-14)) : null,
  ];
}

const OUTCOMES = { pass: t("passed"), fail: t("failed"), untested: t("not testable") };

// The verdict that the next completion code tells, and what each rule says.
function overall(verdict) {
  if (!verdict?.rules) return null;
  const rules = verdict.rules.map((one) => `${one.rule.replaceAll("_", " ")}: ${OUTCOMES[one.outcome]}`).join("; ");
  return facts([[t("Verdict of all rules"), badge(verdict.verdict, OUTCOMES[verdict.verdict]), rules || null]]);
}

function quality(report) {
  const mine = report.raters?.find((one) => one.rater === key);
  if (!mine) return h("p", { class: "quiet" }, "job" in report ? t("The quality report is being computed.") : t("There is no evidence before the first judgments."));
  return [
    facts([
      [t("Verdict"), badge(mine.verdict, VERDICTS[mine.verdict] ?? mine.verdict)],
      ...("control" in mine ? [
        [t("Degraded texts scored worse"), percent(mine.control?.share_worse)],
        [t("Repeated answers alike"), percent(mine.repeats?.within)],
        [t("Offset from other raters"), figure(mine.panel?.offset, 2)],
        [t("Seconds per segment"), figure(mine.speed?.seconds, 1), mine.speed ? t("{ratio} of the median", { ratio: figure(mine.speed.ratio, 2) }) : null],
      ] : []),
    ]),
    mine.why ? h("p", { class: "quiet" }, foreign(mine.why)) : null,
  ];
}

const flags = () => new Browse(h("div"), {
  name: "problems",
  label: t("Problems"),
  path: `${api}/flags?${new URLSearchParams({ rater: key })}`,
  key: (one) => one.flag,
  search: t("Search by note or text"),
  filters: [{ name: "answered", label: t("State"), options: [["", t("all")], ["false", t("open")], ["true", t("answered")]] }],
  columns: [
    { head: t("When"), cell: (one) => brief(one.at) },
    { head: t("Text"), cell: (one) => one.document },
    { head: t("Problem"), cell: (one) => badge(one.answer ? "done" : "waiting", one.reason.replaceAll("_", " ")) },
    { head: t("Note"), cell: (one) => one.note, look: "text" },
    { head: t("Answer"), cell: (one) => one.answer ?? h("a", { href: `${here}/problems?${new URLSearchParams({ q: key })}` }, t("Answer …")), look: "text" },
  ],
  nothing: { icon: "flag", title: t("No problem is reported."), text: t("What this rater reports about items appears here; you answer it under “Problems”.") },
});

// What was written to the rater, whose page shows it until they say that they read it.
const messages = () => new Browse(h("div"), {
  name: "messages",
  label: t("Messages"),
  path: `${path}/messages`,
  key: (one) => String(one.id),
  filters: [{ name: "read", label: t("State"), options: [["", t("all")], ["false", t("not read yet")], ["true", t("read")]] }],
  columns: [
    { head: t("When"), cell: (one) => brief(one.at) },
    { head: t("Text"), cell: (one) => one.text, look: "text" },
    { head: t("By"), cell: (one) => actorName(one.actor), look: "wide" },
    { head: t("Read"), cell: (one) => (one.read_at ? brief(one.read_at) : badge("waiting", t("not yet"))) },
  ],
  nothing: { icon: "message", title: t("There are no messages to this rater."), text: t("The rater's page shows a message until they confirm that they have read it.") },
});

function write() {
  const go = button([icon("message"), t("Write a message …")], () => ask(t("Message to {rater}", { rater: key }), t("Text, shown on the rater's page until they confirm that they have read it"), t("Send"), async (text, where) => {
    if (!(await change("POST", `${api}/messages`, { body: { raters: [key], text }, said: where }))) return false;
    toast(t("Sent."));
    await show();
    return true;
  }), { class: "quiet" });
  return h("p", { class: "actions" }, go);
}

// Who they are. It is kept apart from everything else and goes when the rater is erased.
function contact(rater) {
  const there = rater.contact ?? {};
  if (!manages) return facts([[t("Name"), there.name ?? NONE], [t("E-mail"), there.email ?? NONE], [t("Note"), there.note ?? NONE]]);
  const field = (name, label, tag, props) => {
    const id = fresh(name);
    const input = h(tag, { id, name, ...props });
    input.value = there[name] ?? "";
    return h("div", { class: "field" }, h("label", { for: id }, label), input);
  };
  const save = h("button", { type: "submit" }, t("Save"));
  const form = h("form", { data: { place: "contact" } }, h("div", { class: "fields" }, field("name", t("Name"), "input", { maxlength: "500", autocomplete: "off" }),
    field("email", t("E-mail"), "input", { type: "email", maxlength: "320", autocomplete: "off" }), field("note", t("Note, which only managers and coordinators see"), "textarea", { rows: "2", maxlength: "4000" })), h("p", { class: "actions" }, save));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    resting(save, async () => {
      const { capacity, capacity_unit, team, buckets, languages, attributes, state } = rater;
      const values = Object.fromEntries(["name", "email", "note"].map((name) => [name, form.elements[name].value.trim() || null]));
      const body = { capacity, capacity_unit, team, buckets, languages, attributes, state, contact: Object.values(values).some(Boolean) ? values : null };
      if (await change("PUT", path, { body, said, form, headers: { "If-Match": `"${rater.settings_version}"` } })) {
        toast(t("Saved."));
        await show();
      }
    });
  });
  return form;
}

const show = reading(place, async () => {
  const rater = await get(path);
  const written = rater.state && rater.state !== "erased";
  const [reported, sent] = [manages ? flags() : null, written ? messages() : null];
  const standing = new URLSearchParams({ what: "rater", standing: true, q: key });
  const [progress, times, exclusions, report, verdict] = await Promise.all([
    counts(), get(`${api}/hours`), manages ? all(`${api}/exclusions?${standing}`) : [], get(`${api}/reports/quality`, { timeout: LONG, absent: {} }), get(`${path}/verdict`, { timeout: LONG, absent: {} }), reported?.open(), sent?.open(),
  ]);
  const excluded = exclusions.find((one) => one.key === key);
  fill(place,
    excluded ? h("p", { class: "note" }, t("Excluded from all results since {when}: {reason}", { when: moment(excluded.at), reason: excluded.reason })) : null,
    steps(rater), work(rater, progress, times),
    h("h2", {}, t("Quality")), overall(verdict), quality(report), h("p", {}, h("a", { href: `${here}/quality` }, t("Evidence on all raters"))),
    reported ? [h("h2", {}, t("Problems")), reported.place] : null,
    written ? [h("h2", {}, t("Messages")), write(), sent.place, h("h2", {}, t("Contact")), contact(rater)] : null);
});

await show();
