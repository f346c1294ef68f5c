// Questions before the first task, and after the last one.

import { insist, why } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { unmark } from "../shared/fields.js";
import { loadMessages, t } from "../shared/messages.js";
import { drawQuestions } from "./asking.js";
import { saidElsewhere } from "./sending.js";

const { home } = $("main").dataset;
const AFTER = "#after"; // the task page sends here when there is no more work
const TITLES = { before: () => t("Before your first task"), after: () => t("After your last task") };
const WORDS = {
  before: () => t("Please answer these questions before you begin."),
  after: () => t("Thank you for your work. Please answer these last questions."),
};

await loadMessages();

const onward = () => h("p", { class: "actions" }, h("a", { class: "button", href: home }, t("Go to the task")));

async function begin() {
  const answer = await insist("GET", "/v1/me/questionnaires");
  if (!answer.ok) return fill($("#content"), h("p", {}, why(answer)));
  const { items } = answer.body;
  if (!items.length) return fill($("#content"), h("p", {}, t("This campaign asks no questions.")), onward());
  const wanted = items.find((one) => one.outstanding && (one.moment === "before" || location.hash === AFTER));
  if (wanted) return show([wanted], { first: true });
  return show(items.filter((one) => one.moment === "before" || !one.outstanding || location.hash === AFTER));
}

function show(items, { first = false } = {}) {
  fill($("#content"), items.map((item) => section(item, first)), first ? null : onward());
}

function section(item, first) {
  const made = drawQuestions(item.questions, item.answers);
  const said = h("p", { class: "said", role: "alert" });
  const saved = h("span", { role: "status" });
  const send = h("button", { type: "submit" }, t("Send the answers"));
  const form = h("form", { method: "dialog", novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    said.textContent = saved.textContent = "";
    unmark(form);
    const answers = made.read();
    if (!answers) return;
    send.disabled = true;
    const away = () => (said.textContent = t("The server cannot be reached. Trying again …"));
    const answer = await insist("PUT", `/v1/me/questionnaires/${item.moment}/answers`, { body: { answers } }, away);
    send.disabled = false;
    said.textContent = answer.ok ? "" : saidElsewhere(form, answer);
    if (answer.ok && first) location.replace(home);
    else if (answer.ok) saved.textContent = t("Your answers are stored.");
  } }, made.element, said, h("p", { class: "actions" }, send, " ", saved));
  return h("section", {}, h("h2", {}, TITLES[item.moment]()), item.outstanding ? h("p", { class: "words" }, WORDS[item.moment]()) : null, form);
}

addEventListener("hashchange", begin);
await begin();
