// The tutorial before the first task: a text, the reader's judgment, then how it is judged and why; and the next one.

import { call, comesBack, insist, Unreachable, why } from "../shared/api.js";
import { $, bringIntoView, button, fill, h } from "../shared/dom.js";
import { language, loadMessages, t } from "../shared/messages.js";
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

function payloadOf(answer, protocol) {
  const said = form.widgets.flatMap(fieldsOf).filter((field) => answer.values[field] !== undefined);
  return { protocol, ...Object.fromEntries(said.map((field) => [field, answer.values[field]])) };
}

// An item without a source shows none, whatever the campaign does.
function show(course, n) {
  const item = course.items[n];
  const labels = item.source === null ? ["Text"] : form.labels;
  const made = practice({ source: item.source, output: item.text, prefill: null }, { ...form, labels }, locale);
  const heading = h("h2", { tabindex: "-1" }, t("Text {n} of {total}", { n: n + 1, total: course.items.length }));
  const said = h("p", { class: "said", role: "alert" });
  const outcome = h("div", { role: "status" });
  const steps = h("p", { class: "actions" });
  const next = () => (n + 1 < course.items.length ? show(course, n + 1) : finished(course));
  const check = button(t("See how it is judged"), async () => {
    const lacks = made.answer.lacks;
    said.textContent = lacks.length ? t("Still missing: {what}.", { what: lacks.join(", ") }) : "";
    if (lacks.length) return;
    check.disabled = true;
    const marked = await put(course, item, made.answer, said);
    check.disabled = false;
    if (!marked) return;
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

async function put({ protocol }, item, answer, said) {
  let found;
  try {
    found = await call("PUT", `/v1/me/tutorial/answers/${item.item}`, { body: { payload: payloadOf(answer, protocol) } });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    found = { status: 503, ok: false, body: null };
  }
  if (found.ok) {
    item.answered = true;
    return found.body;
  }
  said.textContent = comesBack(found.status) ? t("The server cannot be reached. Try again in a moment.") : why(found);
  return null;
}

function verdict({ right, reasons }) {
  const reason = reasons[language()] ?? reasons.en ?? Object.values(reasons)[0];
  const told = reason ? h("span", { dir: "auto" }, reason) : null;
  if (right === null) return told ? h("p", {}, told) : h("p", {}, t("Thank you."));
  return h("p", { class: right ? "verdict right" : "verdict wrong" }, right ? t("Right.") : t("Not right."), " ", told);
}

function shown(item, { payload }, asked) {
  return worked({ source: item.source, output: item.text, payload, why: null }, asked, locale);
}

await begin();
