// What raters report: flags of items, and disputes about hours; a manager answers either, and the rater sees the answer.

import { $, button, dialog, fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { api, change, figure, here, moment, table } from "./parts.js";
import { Listing, reading } from "./reading.js";

const place = $("#problems");
const waiting = new Listing(`${api}/flags?answered=false`);
const answered = new Listing(`${api}/flags?answered=true`);
const claims = new Listing(`${api}/hours/adjustments`);
const LONGEST = "4000";
const REASONS = {
  bad_source: t("bad source"), wrong_language: t("wrong language"), technical: t("technical"), offensive: t("offensive"), other: t("other"),
};
const KINDS = { adjustment: t("adjustment"), refusal: t("refusal") };
const reasonOf = (one) => REASONS[one.reason] ?? one.reason.replaceAll("_", " ");

// Ask for a text, then do something with it; the dialog stays while that fails.
function ask(title, label, name, then) {
  const id = fresh("text");
  const text = h("textarea", { id, rows: "3", maxlength: LONGEST, required: true });
  const wrong = h("p", { class: "said", role: "alert" });
  const form = h("form", { class: "field" }, h("label", { for: id }, label), text, wrong, h("p", { class: "actions" }, h("button", { type: "submit" }, name)));
  const box = dialog(title, form, { closeLabel: t("Back") });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(await then(text.value.trim(), wrong))) return;
    box.close();
    await show();
  });
}

const answerFlag = (one) => ask(t("Answer a flag"), t("To {rater}: {reason}", { rater: one.rater, reason: reasonOf(one) }), t("Answer"),
  (answer, said) => change("POST", `${api}/flags/${one.flag}/answer`, { body: { answer }, said }));

const accept = (one) => ask(t("Accept a dispute"), t("Reason for paying {n} minutes to {rater}", { n: figure(one.seconds / 60), rater: one.rater }), t("Accept"),
  (reason, said) => change("POST", `${api}/hours/adjustments`, { body: { rater: one.rater, seconds: one.seconds, reason, answers: one.id }, said }));

const refuse = (one) => ask(t("Refuse a dispute"), t("Reason for paying nothing to {rater}", { rater: one.rater }), t("Refuse"),
  (reason, said) => change("POST", `${api}/hours/refusals`, { body: { dispute: one.id, reason }, said }));

function where(one) {
  if (!one.document) return t("the whole task");
  const query = new URLSearchParams({ document: one.document, system: one.systems.length === 1 ? one.systems[0] : "" });
  return h("a", { href: `${here}/items?${query}` }, one.segment ? t("{document}, segment {n}", { document: one.document, n: one.segment }) : one.document);
}

function flags(found) {
  if (!found.length) return h("p", {}, t("No rater has reported a problem with an item."));
  return table(t("Problems with items"), [
    [t("When"), (one) => moment(one.at)], [t("Rater"), (one) => one.rater], [t("Where"), where], [t("Systems"), (one) => one.systems.join(", ") || null],
    [t("Problem"), reasonOf], [t("Note"), (one) => one.note, "text"],
    [t("Answer"), (one) => one.answer ?? button(t("Answer …"), () => answerFlag(one), { class: "quiet", "aria-label": t("Answer {rater} about {reason}", { rater: one.rater, reason: reasonOf(one) }) }), "text"],
  ], found);
}

function steps(one) {
  if (one.kind !== "dispute") return KINDS[one.kind] ?? one.kind;
  if (one.answered) return one.answered === "adjustment" ? t("accepted") : t("refused");
  return h("span", { class: "actions" },
    button(t("Accept …"), () => accept(one), { class: "quiet", "aria-label": t("Accept the dispute of {rater}", { rater: one.rater }) }),
    button(t("Refuse …"), () => refuse(one), { class: "quiet", "aria-label": t("Refuse the dispute of {rater}", { rater: one.rater }) }));
}

function hours(found) {
  if (!found.length) return h("p", {}, t("There are no messages about hours."));
  return table(t("Messages about hours"), [
    [t("When"), (one) => moment(one.at)], [t("Rater"), (one) => one.rater], [t("Minutes"), (one) => figure(one.seconds / 60, 1), "right"],
    [t("Reason"), (one) => one.reason, "text"], [t("Answer"), steps],
  ], found);
}

const isOpen = (one) => one.kind === "dispute" && !one.answered;

// What nobody has answered comes first, all of it.
const show = reading(place, async () => {
  const reported = await waiting.read();
  if (!waiting.next) reported.push(...(await answered.read()));
  const said = await claims.read();
  fill(place, h("h2", {}, t("Items")), flags(reported), waiting.rest(show) ?? answered.rest(show),
    h("h2", {}, t("Hours")), hours([...said.filter(isOpen), ...said.filter((one) => !isOpen(one))]), claims.rest(show),
    h("p", { class: "fetch" }, t("Fetch:"), h("a", { href: `${api}/flags` }, t("Flags as JSON")), h("a", { href: `${api}/hours.csv` }, t("Hours as CSV"))));
});

await show();
