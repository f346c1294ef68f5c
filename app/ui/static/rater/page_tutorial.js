// The tutorial before the first task: a text, the reader's judgment, then how it is judged and why; and the next one.

import { call, comesBack, insist, Unreachable, why } from "../shared/api.js";
import { $, bringIntoView, button, fill, h } from "../shared/dom.js";
import { inOwnLanguage, loadMessages, t } from "../shared/messages.js";
import { practice, worked } from "./practice.js";
import { fieldsOf } from "./questions.js";

const { home, sourceLanguage: source, targetLanguage: target } = $("main").dataset;
const form = JSON.parse($("main").dataset.forms).find((one) => one.level !== "screen");
const locale = { source, target };

await loadMessages();

const onward = () => h("p", { class: "actions" }, h("a", { class: "button", href: home }, t("Go to the task")));

async function begin() {
  const answer = await insist("GET", "/v1/me/tutorial");
  if (!answer.ok) return fill($("#content"), h("p", {}, why(answer)));
  const { items } = answer.body;
  if (!items.length) return fill($("#content"), h("p", {}, t("This campaign has no tutorial.")), onward());
  const first = items.findIndex((item) => !item.answered);
  return first < 0 ? finished(answer.body) : show(answer.body, first);
}

function finished(course) {
  const again = button(t("Do it again"), () => show(course, 0), { class: "quiet" });
  const done = h("p", { class: "big", tabindex: "-1" }, t("You have finished the tutorial."));
  fill($("#content"), done, h("p", { class: "actions" }, h("a", { class: "button", href: home }, t("Go to the task")), again));
  done.focus();
}

const layoutOf = ({ markup }, i) => (markup ? { source: markup.source, output: markup.columns[i] } : null);

// A text, or several side by side, each with a judgment of its own.
function drawn(item, heard) {
  const labels = item.source === null ? ["Text"] : form.labels;
  const texts = item.columns.length ? item.columns : [item.text];
  const made = texts.map((output, i) => practice({ source: item.source, output, prefill: null, markup: layoutOf(item, i) }, { ...form, labels }, locale, { heard, n: i + 1 }));
  const several = made.map((one, i) => h("section", { "aria-label": t("Text {n} of {total}", { n: i + 1, total: made.length }) }, h("h3", {}, t("Text {n} of {total}", { n: i + 1, total: made.length })), one.element));
  return { labels, answers: made.map((one) => one.answer), element: made.length > 1 ? h("div", {}, several) : made[0].element };
}

function payloadOf(answer, protocol) {
  const said = form.widgets.flatMap(fieldsOf).filter((field) => answer.values[field] !== undefined);
  return { protocol, ...Object.fromEntries(said.map((field) => [field, answer.values[field]])) };
}

// An item without a source shows none, whatever the campaign does.
function show(course, n) {
  const item = course.items[n];
  const said = h("p", { class: "said", role: "alert" });
  const made = drawn(item, () => (said.textContent = "")); // what was missing may be there now
  const { labels } = made;
  const heading = h("h2", { tabindex: "-1" }, t("Text {n} of {total}", { n: n + 1, total: course.items.length }));
  const outcome = h("div", { role: "status" });
  const steps = h("p", { class: "actions" });
  const next = () => (n + 1 < course.items.length ? show(course, n + 1) : finished(course));
  const check = button(t("See how it is judged"), async () => {
    const lacks = made.answers.flatMap((answer) => answer.lacks);
    said.textContent = lacks.length ? t("Still missing: {what}.", { what: lacks.join(", ") }) : "";
    if (lacks.length) return;
    check.disabled = true;
    const marked = await put(course, item, made.answers, said);
    check.disabled = false;
    if (!marked) return;
    if (marked.again) {
      fill(outcome, verdict(marked), h("p", {}, t("Change your answer and check again.")));
      check.textContent = t("Check again");
      return void bringIntoView(outcome, "nearest");
    }
    check.remove();
    made.element.inert = true;
    fill(outcome, verdict(marked), marked.payload ? shown(item, marked, { ...form, labels }) : null);
    const on = button(n + 1 < course.items.length ? t("Next text") : t("End of the tutorial"), next);
    steps.append(on);
    on.focus();
    bringIntoView(outcome, "nearest");
  });
  steps.append(check);
  const told = h("p", { class: "quiet" }, t("This is practice and does not count. After each text you see the right judgment."));
  fill($("#content"), told, heading, item.question ? h("p", { dir: "auto" }, item.question) : null, made.element, said, outcome, steps);
  heading.focus();
}

async function put({ protocol }, item, answers, said) {
  const payloads = answers.map((answer) => payloadOf(answer, protocol));
  let found;
  try {
    found = await call("PUT", `/v1/me/tutorial/answers/${item.item}`, { body: item.columns.length ? { payloads } : { payload: payloads[0] } });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    found = { status: 503, ok: false, body: null };
  }
  if (found.ok) {
    item.answered = !found.body.again;
    return found.body;
  }
  said.textContent = comesBack(found.status) ? t("The server cannot be reached. Try again in a moment.") : why(found);
  return null;
}

function verdict({ right, reasons, warnings }) {
  const said = [...warnings, reasons].map(inOwnLanguage).filter(Boolean);
  const told = said.length ? h("span", { dir: "auto" }, said.join(" ")) : null;
  if (right === null) return told ? h("p", {}, told) : h("p", {}, t("Thank you."));
  return h("p", { class: right ? "verdict right" : "verdict wrong" }, right ? t("Right.") : t("Not right."), " ", told);
}

function shown(item, { payload }, asked) {
  return worked({ source: item.source, output: item.text, payload, why: null, markup: layoutOf(item, 0) }, asked, locale);
}

await begin();
