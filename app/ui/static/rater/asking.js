// The questions of a questionnaire as fields. A question in a language that the page does not have is marked as such.

import { fresh, h } from "../shared/dom.js";
import { language, number, t } from "../shared/messages.js";

// In the reader's language; English through the catalogue, which has the questions of a language biography.
function words(label) {
  const own = label[language()];
  if (own) return h("span", { dir: "auto" }, own);
  const [code, text] = label.en ? ["en", label.en] : Object.entries(label)[0];
  const said = code === "en" ? t(text.replaceAll("|", "\u00a6")).replaceAll("\u00a6", "|") : text;
  return h("span", { dir: "auto", lang: said === text ? code : null }, said);
}

const typed = (text) => Number(text.trim().replace(/[\s\u00a0\u202f]/g, "").replace(",", "."));

function choices(question, given, described) {
  const name = fresh("answer");
  const several = question.kind === "choices";
  const chosen = [given ?? []].flat();
  const inputs = question.options.map((option) => [option.value, option.label, h("input", { type: several ? "checkbox" : "radio", name, value: option.value, checked: chosen.includes(option.value) })]);
  const element = h("fieldset", { class: "choice", "aria-describedby": described }, h("legend", {}, words(question.label), mark(question)),
    inputs.map(([, label, input]) => h("label", { class: "point" }, input, words(label))));
  const values = () => inputs.filter(([, , input]) => input.checked).map(([value]) => value);
  return { element, focus: () => inputs[0][2].focus(), value: () => (several ? values() : values()[0] ?? null) };
}

function line(question, given, described) {
  const id = fresh("answer");
  const common = { id, "aria-describedby": described, "aria-required": question.required ? "true" : null, dir: "auto" };
  const input = question.kind === "number"
    ? h("input", { ...common, type: "text", inputmode: "decimal", autocomplete: "off", value: given === undefined ? "" : String(given) })
    : h("textarea", { ...common, rows: "2", maxlength: "5000" }, given ?? "");
  const value = () => {
    const text = input.value.trim();
    return text === "" ? null : question.kind === "number" ? typed(text) : text;
  };
  return { element: h("div", { class: "field" }, h("label", { for: id }, words(question.label), mark(question)), input), focus: () => input.focus(), value };
}

const mark = (question) => (question.required ? null : h("small", { class: "quiet" }, " ", t("(optional)")));

// What is wrong with an answer; nothing where it can be sent.
function fault(question, value) {
  const empty = value === null || (Array.isArray(value) && !value.length);
  if (empty) return question.required ? t("This question must be answered.") : "";
  if (question.kind !== "number") return "";
  const [low, high] = [question.minimum ?? -Infinity, question.maximum ?? Infinity];
  if (!Number.isFinite(value)) return t("Enter a number.");
  if (value < low && high === Infinity) return t("Enter {n} or more.", { n: number(low, 6) });
  if (value > high && low === -Infinity) return t("Enter {n} or less.", { n: number(high, 6) });
  return value < low || value > high ? t("Enter a number from {low} to {high}.", { low: number(low, 6), high: number(high, 6) }) : "";
}

// → {element, read}. read: the answers by name; null where one is missing or wrong, which is then said and shown.
export function drawQuestions(questions, answers) {
  const drawn = questions.map((question) => {
    if (question.kind === "note") return { question, element: h("p", { class: "words" }, words(question.label)) };
    const id = fresh("fault");
    const made = (question.options?.length ? choices : line)(question, answers?.[question.name], id);
    const said = h("p", { class: "said", id });
    return { question, ...made, said, element: h("div", { class: "question", data: { name: question.name } }, made.element, said) };
  });
  const read = () => {
    const found = {};
    let first = null;
    for (const { question, value, said, focus } of drawn) {
      if (question.kind === "note") continue;
      const given = value();
      said.textContent = fault(question, given);
      if (said.textContent) first ??= focus;
      else if (given !== null && !(Array.isArray(given) && !given.length)) found[question.name] = given;
    }
    first?.();
    return first ? null : found;
  };
  return { element: h("div", { class: "questions" }, drawn.map(({ element }) => element)), read };
}
