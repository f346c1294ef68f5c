// The questions of a questionnaire as fields. A question in a language that the page does not have is marked as such.

import { fresh, h } from "../shared/dom.js";
import { markFields } from "../shared/fields.js";
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

function choices(question, given) {
  const name = fresh("answer");
  const several = question.kind === "choices";
  const chosen = [given ?? []].flat();
  const inputs = question.options.map((option) => [option.value, option.label, h("input", { type: several ? "checkbox" : "radio", name, data: { place: "" }, value: option.value, checked: chosen.includes(option.value) })]);
  const element = h("fieldset", { class: "choice" }, h("legend", {}, words(question.label), mark(question)),
    inputs.map(([, label, input]) => h("label", { class: "point" }, input, words(label))));
  const values = () => inputs.filter(([, , input]) => input.checked).map(([value]) => value);
  return { element, value: () => (several ? values() : values()[0] ?? null) };
}

function line(question, given) {
  const id = fresh("answer");
  const common = { id, data: { place: "" }, "aria-required": question.required ? "true" : null, dir: "auto" };
  const input = question.kind === "number"
    ? h("input", { ...common, type: "text", inputmode: "decimal", autocomplete: "off", value: given === undefined ? "" : String(given) })
    : h("textarea", { ...common, rows: "2", maxlength: "5000" }, given ?? "");
  const value = () => {
    const text = input.value.trim();
    return text === "" ? null : question.kind === "number" ? typed(text) : text;
  };
  return { element: h("div", { class: "field" }, h("label", { for: id }, words(question.label), mark(question)), input), value };
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
    const made = (question.options?.length ? choices : line)(question, answers?.[question.name]);
    return { question, ...made, element: h("div", { class: "question", data: { name: question.name, place: question.name } }, made.element) };
  });
  const element = h("div", { class: "questions", data: { place: "answers" } }, drawn.map((one) => one.element));
  const read = () => {
    const [found, faults] = [{}, []];
    for (const { question, value } of drawn) {
      if (question.kind === "note") continue;
      const given = value();
      const msg = fault(question, given);
      if (msg) faults.push({ loc: ["answers", question.name], msg, own: true });
      else if (given !== null && !(Array.isArray(given) && !given.length)) found[question.name] = given;
    }
    if (faults.length) markFields(element.closest("form"), faults);
    return faults.length ? null : found;
  };
  return { element, read };
}
