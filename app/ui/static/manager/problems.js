// What raters report: problems of items, and disputes about hours; a manager answers either, and the rater sees the answer.

import { $, button, dialog, fresh, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { ask } from "./asking.js";
import { Browse } from "./browse.js";
import { each } from "./each.js";
import { api, badge, brief, change, figure, here, resting } from "./parts.js";
import { Several } from "./several.js";
import { toast } from "./toast.js";

const said = $("#said");
const LONGEST = { longest: 4000 };
const ANSWERED = "urn:plumbline:problem:answered-already";
const REASONS = {
  bad_source: t("bad source"), wrong_language: t("wrong language"), technical: t("technical"), offensive: t("offensive"), other: t("other"),
};
const KINDS = { dispute: t("dispute"), adjustment: t("adjustment"), refusal: t("refusal") };
const reasonOf = (one) => REASONS[one.reason] ?? one.reason.replaceAll("_", " ");
const raterLink = (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater);

function where(one) {
  if (!one.document) return t("the whole task");
  const query = new URLSearchParams({ document: one.document, ...(one.segment ? { segment: one.segment } : {}), ...(one.systems.length === 1 ? { system: one.systems[0] } : {}) });
  return h("a", { href: `${here}/items?${query}` }, one.segment ? t("{document}, segment {n}", { document: one.document, n: one.segment }) : one.document);
}

const several = new Several({
  path: `${api}/flags`, name: "flags", key: (one) => one.flag, type: "urn:plumbline:problem:flags-changed-meanwhile", said,
  kept: (n) => count(n, "{n} problem was changed by somebody else meanwhile and was left unchanged.", "{n} problems were changed by somebody else meanwhile and were left unchanged."),
});
const set = (rows, values, words, place) => several.set(flags, rows, values, words, place);

function answer(rows) {
  const label = rows.length === 1 ? t("To {rater}: {reason}", { rater: rows[0].rater, reason: reasonOf(rows[0]) }) : t("Answer that these raters see");
  ask(count(rows.length, "Answer a problem", "Answer {n} problems"), label, t("Answer"), (text, place) =>
    set(rows, { answer: text }, (n) => count(n, "{n} problem is answered.", "{n} problems are answered."), place), LONGEST);
}

const reopen = (rows) => set(rows, { answer: null }, (n) => count(n, "{n} problem is open again.", "{n} problems are open again."));

function assign(rows) {
  const names = [...new Set([...flags.rows, ...rows].map((one) => one.assignee).filter(Boolean))];
  const id = fresh("assignee");
  const list = h("datalist", { id: `${id}-known` }, names.map((value) => h("option", { value })));
  const field = h("input", { id, data: { place: "assignee" }, list: list.id, maxlength: "128", autocomplete: "off", value: rows.length === 1 ? rows[0].assignee ?? "" : "" });
  const wrong = h("p", { class: "said", role: "alert" });
  const go = h("button", { type: "submit" }, t("Assign"));
  const form = h("form", { class: "field" }, h("label", { for: id }, t("Name; empty for nobody")), field, list, wrong, h("p", { class: "actions" }, go));
  const box = dialog(count(rows.length, "Assign a problem", "Assign {n} problems"), form, { closeLabel: t("Back") });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const assignee = field.value.trim() || null;
    const words = (n) => assignee ? count(n, "{n} problem is assigned to {name}.", "{n} problems are assigned to {name}.", { name: assignee }) : count(n, "{n} problem is assigned to nobody.", "{n} problems are assigned to nobody.");
    resting(go, async () => (await set(rows, { assignee }, words, wrong)) && box.close());
  });
}

const answered = (one) => one.answer ?? button(t("Answer …"), () => answer([one]), { class: "quiet", "aria-label": t("Answer {rater} about {reason}", { rater: one.rater, reason: reasonOf(one) }) });

const flags = new Browse($("#flags"), {
  label: t("Problems with items"),
  path: `${api}/flags`,
  key: (one) => one.flag,
  called: (one) => `${one.rater}: ${reasonOf(one)}`,
  search: t("Search by note, rater, text or name"),
  filters: [{ name: "answered", label: t("State"), value: "false", options: [["false", t("open")], ["true", t("answered")], ["", t("all")]] }],
  columns: [
    { head: t("When"), cell: (one) => brief(one.at) },
    { head: t("Rater"), cell: raterLink },
    { head: t("Problem"), cell: (one) => badge(one.answer ? "done" : "waiting", reasonOf(one)) },
    { head: t("Where"), cell: where, look: "text" },
    { head: t("Systems"), cell: (one) => one.systems.join(", ") || null, look: "wide" },
    { head: t("Note"), cell: (one) => one.note, look: "text" },
    { head: t("Assigned to"), cell: (one) => one.assignee, look: "wide", sparse: true },
    { head: t("Answer"), cell: answered, look: "text" },
  ],
  actions: [
    { label: t("Answer …"), icon: "message", run: answer },
    { label: t("Assign …"), icon: "people", run: assign },
    { label: t("Open again"), icon: "undo", run: reopen },
  ],
  nothing: { icon: "flag", title: t("No problem is open."), text: t("Problems that raters report about items appear here. They see your answer.") },
});

// Each dispute is answered by an entry of its own, which stays: it is asked before, and cannot be undone. One that
// somebody else answered meanwhile is passed over.
function decide(rows, title, label, name, words, send) {
  ask(title, label, name, async (reason, place) => {
    const { done, before, left } = await each(rows, place, (one, refused) => send(one, reason, { said: place, refused }), (answer) => answer.body?.type === ANSWERED);
    rows = left;
    if (done.length) toast(words(done.length));
    if (before.length) toast(count(before.length, "{n} dispute was answered already.", "{n} disputes were answered already."));
    await hours.done(left);
    return !left.length;
  }, LONGEST);
}

const accept = (rows) => decide(rows, count(rows.length, "Accept a dispute", "Accept {n} disputes"),
  rows.length === 1 ? t("Reason for paying {n} minutes to {rater}", { n: figure(rows[0].seconds / 60), rater: rows[0].rater }) : t("Reason for paying what they ask for"),
  t("Accept"), (n) => count(n, "{n} dispute is accepted.", "{n} disputes are accepted."),
  (one, reason, more) => change("POST", `${api}/hours/adjustments`, { body: { rater: one.rater, seconds: one.seconds, reason, answers: one.id }, ...more }));

const refuse = (rows) => decide(rows, count(rows.length, "Refuse a dispute", "Refuse {n} disputes"),
  rows.length === 1 ? t("Reason for paying nothing to {rater}", { rater: rows[0].rater }) : t("Reason for paying nothing to them"),
  t("Refuse"), (n) => count(n, "{n} dispute is refused.", "{n} disputes are refused."),
  (one, reason, more) => change("POST", `${api}/hours/refusals`, { body: { dispute: one.id, reason }, ...more }));

const isOpen = (one) => one.kind === "dispute" && !one.answered;

function steps(one) {
  if (!isOpen(one)) return one.kind !== "dispute" ? null : one.answered === "adjustment" ? t("accepted") : t("refused");
  return h("span", { class: "actions" },
    button(t("Accept …"), () => accept([one]), { class: "quiet", "aria-label": t("Accept the dispute of {rater}", { rater: one.rater }) }),
    button(t("Refuse …"), () => refuse([one]), { class: "quiet", "aria-label": t("Refuse the dispute of {rater}", { rater: one.rater }) }));
}

const hours = new Browse($("#hours"), {
  name: "hours",
  label: t("Messages about hours"),
  path: `${api}/hours/adjustments`,
  key: (one) => String(one.id),
  called: (one) => `${one.rater}: ${one.reason}`,
  search: t("Search by rater or reason"),
  filters: [{ name: "answered", label: t("State"), value: "false", options: [["false", t("open disputes")], ["true", t("answered disputes")], ["", t("all")]] }],
  columns: [
    { head: t("When"), cell: (one) => brief(one.at) },
    { head: t("Rater"), cell: raterLink },
    { head: t("Kind"), cell: (one) => badge(isOpen(one) ? "waiting" : "none", KINDS[one.kind] ?? one.kind) },
    { head: t("Minutes"), cell: (one) => figure(one.seconds / 60, 1), look: "right" },
    { head: t("Reason"), cell: (one) => one.reason, look: "text" },
    { head: t("Answer"), cell: steps, look: "steps" },
  ],
  actions: [
    { label: t("Accept …"), icon: "check", run: accept },
    { label: t("Refuse …"), icon: "close", run: refuse },
  ],
  choosable: isOpen,
  links: (query) => [["JSON", `${api}/hours/adjustments?${new URLSearchParams([...query, ["limit", "200"]])}`], [t("Hours as CSV"), `${api}/hours.csv`]],
  nothing: { icon: "clock", title: t("No dispute is open."), text: t("Raters see their hours and can dispute them; you accept or refuse what they ask for.") },
});

await Promise.all([flags.open(), hours.open()]);
