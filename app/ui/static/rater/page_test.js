// The test before the first task: judgments or choices, then which were right and why.

import { call, comesBack, idempotencyKey, insist, Unreachable, why } from "../shared/api.js";
import { $, bringIntoView, button, fill, fresh, h } from "../shared/dom.js";
import { count, language, loadMessages, number, t } from "../shared/messages.js";
import { notice } from "./notices.js";
import { layoutOf, practice } from "./practice.js";
import { fieldsOf } from "./questions.js";
import { Text } from "./text_view.js";

const { home, test: hasTest, sourceLanguage: source, targetLanguage: target, protocol } = $("main").dataset;
const form = JSON.parse($("main").dataset.forms).find((one) => one.level !== "screen");
let key = idempotencyKey();

await loadMessages();

async function show() {
  const answer = hasTest ? await insist("GET", "/v1/me/qualification") : null;
  if (!answer || answer.status === 404) return fill($("#content"), h("p", {}, t("This campaign has no test.")), onward());
  if (!answer.ok) return fill($("#content"), h("p", {}, why(answer)));
  const test = answer.body;
  if (test.passed) return fill($("#content"), h("p", { class: "big" }, t("You passed the test.")), onward());
  if (test.attempts_left === 0) return fill(
    $("#content"),
    h("p", { class: "big" }, t("You have no attempts left. Ask the person who sent you the link.")),
  );
  return ask(test);
}

const onward = () => h("p", { class: "actions" }, h("a", { class: "button", href: home }, t("Go to the task")));

function ask(test) {
  const parts = test.items.map((item) => (item.choices.length ? choices(item) : judgment(item)));
  const said = h("p", { class: "said", role: "alert" });
  const sections = parts.map(
    (part, i) => h(
      "section",
      { class: "question", tabindex: "-1", "aria-label": t("Question {n}", { n: i + 1 }) },
      h("h2", {}, t("Question {n}", { n: i + 1 })),
      part.element,
    ),
  );
  const submit = button(t("Hand in the test"), async () => {
    const open = parts.findIndex((part) => !part.answer());
    said.textContent = open < 0 ? "" : t("Question {n} has no answer yet.", { n: open + 1 });
    if (open >= 0) return void (sections[open].focus(), bringIntoView(sections[open], "start"));
    await hand(test, parts.map((part) => part.answer()), said, sections);
  });
  fill(
    $("#content"),
    h("p", {}, t("{share} % of the answers must be right.", { share: number(test.pass_mark * 100) }), " ", attempts(test.attempts_left)),
    sections,
    said,
    h("p", { class: "actions" }, submit),
  );
}

function choices(item) {
  const name = fresh("choice");
  const inputs = item.choices.map((choice) => [choice, h("input", { type: "radio", name, value: choice })]);
  const texts = [["Source", item.source, item.markup?.source], ["Text", item.text, item.markup?.text]].filter(([, text]) => text !== null);
  const shown = texts.map(([label, text, markup]) => new Text({ label, text, side: null, markup: markup ?? null }).element);
  const asked = h("legend", {}, item.question ?? t("Choose the right one"));
  const points = inputs.map(([choice, input]) => h("label", { class: "point" }, input, choice));
  return {
    element: h("div", {}, shown, h("fieldset", { class: "choice" }, asked, points)),
    answer: () => {
      const chosen = inputs.find(([, input]) => input.checked);
      return chosen ? { choice: chosen[0] } : null;
    },
  };
}

// An item without a source shows none, whatever the campaign does.
function judgment(item) {
  const labels = item.source === null ? ["Text"] : form.labels;
  const made = practice(
    { source: item.source, output: item.text, prefill: null, markup: layoutOf(item) },
    { ...form, labels },
    { source, target },
  );
  return {
    element: h("div", {}, item.question ? h("p", {}, item.question) : null, made.element),
    answer: () => {
      if (!made.answer.whole) return null;
      const said = form.widgets.flatMap(fieldsOf).filter((field) => made.answer.values[field] !== undefined);
      return { payload: { protocol, ...Object.fromEntries(said.map((field) => [field, made.answer.values[field]])) } };
    },
  };
}

const attempts = (left) => (left === null ? "" : count(left, "One attempt is left.", "{n} attempts are left."));

async function hand(test, answers, said, sections) {
  let answer;
  try {
    answer = await call(
      "POST",
      "/v1/me/qualification/attempts",
      { body: { version: test.version, answers }, headers: { "Idempotency-Key": key } },
    );
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    answer = { status: 503, ok: false, body: null };
  }
  if (comesBack(answer.status)) {
    said.textContent = t("The server cannot be reached. Nothing is lost; hand in again in a moment.");
    return;
  }
  key = idempotencyKey();
  if (answer.ok) judged(answer.body, sections);
  else said.textContent = why(answer);
}

function judged(result, sections) {
  for (const { item, right, reasons } of result.items) {
    const reason = reasons[language()] ?? reasons.en ?? Object.values(reasons)[0];
    sections[item - 1].append(
      h(
        "p",
        { class: right ? "verdict right" : "verdict wrong" },
        right ? t("Right.") : t("Not right."),
        " ",
        reason ? h("span", { dir: "auto" }, reason) : null,
      ),
    );
  }
  const again = result.attempts_left === 0 ? null : button(t("Try again"), () => location.reload());
  const text = result.passed ? t("You passed the test.") : t(
    "Not passed: {share} % were right.",
    { share: number(result.share * 100) },
  );
  notice(
    "result",
    text,
    {
      close: false,
      actions: [result.passed ? h("a", { class: "button", href: home }, t("Go to the task")) : again].filter(Boolean),
    },
  );
  sections.at(-1).parentElement.querySelector(":scope > .actions")?.remove();
  bringIntoView($("#notices"), "center");
}

await show();
