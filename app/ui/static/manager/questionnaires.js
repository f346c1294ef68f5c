// Questions to raters before their first task and after their last one: written as fields, shown as raters see them.

import { call } from "../shared/api.js";
import { $, button, fill, fresh, h } from "../shared/dom.js";
import { language, t } from "../shared/messages.js";
import { drawQuestions } from "../rater/asking.js";
import { Browse } from "./browse.js";
import { api, get, here, Refused, resting, told } from "./parts.js";
import { reading } from "./reading.js";
import { saveWhole } from "./saving.js";

const form = $("#questionnaires");
const [said, place, shown] = [$(".said", form), $("#asked"), $("#shown")];
const send = $("button[type=submit]", form);
const draft = form.dataset.state === "draft";
const MOMENTS = { before: t("Before the first task"), after: t("After the last task") };
const KINDS = { text: t("Text"), number: t("Number"), choice: t("One of several answers"), choices: t("Several answers"), note: t("Text without a question") };
let seen = null; // the ETag of the campaign
let asked = null; // {before, after}

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
// "key = value" a line.
const halves = (line) => {
  const at = line.indexOf("=");
  return at < 0 ? [line, line] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
};
const main = (label) => (label.en !== undefined ? "en" : Object.keys(label)[0] ?? "en");
const others = (label) => Object.entries(label).filter(([code]) => code !== main(label));
const labelOf = (code, text, rest) => ({ [code]: text, ...Object.fromEntries(rest) });
// "value = label | de = …": the further languages of an option follow its label.
const optionLine = ({ value, label }) => [`${value} = ${label[main(label)]}`, ...others(label).map(([code, text]) => `${code} = ${text}`)].join(" | ");
function optionOf(line) {
  const [first, ...rest] = line.split("|").map((one) => one.trim()).filter(Boolean);
  const [value, text] = halves(first);
  return { value, label: labelOf("en", text || value, rest.map(halves)) };
}

function input(place, label, value, put, { rows = 0, help = "", numeric = false, whole = false } = {}) {
  const id = fresh("field");
  const told = help ? h("p", { class: "help", id: `${id}-help` }, help) : null;
  const common = { id, data: { place }, "aria-describedby": help ? `${id}-help` : null, disabled: !draft, oninput: (event) => later(put(event.target.value)) };
  const made = rows
    ? h("textarea", { ...common, rows: String(rows), spellcheck: "false", dir: "auto" }, value)
    : h("input", { ...common, type: "text", autocomplete: "off", dir: "auto", inputmode: numeric ? "decimal" : null, value });
  const field = h("div", { class: "field" }, h("label", { for: id }, label), made, told);
  field.classList.toggle("whole-row", whole);
  return field;
}

function check(place, label, value, put) {
  const box = h("input", { type: "checkbox", data: { place }, checked: value, disabled: !draft, onchange: () => later(put(box.checked)) });
  return h("label", { class: "point" }, box, label);
}

function kindField(question) {
  const id = fresh("kind");
  const select = h("select", { id, data: { place: "kind" }, disabled: !draft, onchange: () => {
    question.kind = select.value;
    for (const name of ["options", "minimum", "maximum"]) delete question[name];
    if (question.kind.startsWith("choice")) question.options = [t("yes"), t("no")].map((one) => ({ value: one, label: { [language()]: one } }));
    question.group &&= question.kind === "choice";
    question.required &&= question.kind !== "note";
    draw();
  } }, Object.entries(KINDS).map(([value, text]) => h("option", { value, selected: value === question.kind }, text)));
  return h("div", { class: "field" }, h("label", { for: id }, t("Kind of answer")), select);
}

function numeric(question, name, label) {
  return input(name, label, question[name] ?? "", (text) => {
    if (text.trim() === "") delete question[name];
    else question[name] = Number(text.replace(",", "."));
  }, { numeric: true });
}

function drawQuestion(list, i) {
  const question = list[i];
  const code = main(question.label);
  const choosing = question.kind.startsWith("choice");
  const move = (to) => () => {
    list.splice(to, 0, ...list.splice(i, 1));
    draw();
  };
  const acts = draft && [
    i > 0 && button(t("Up"), move(i - 1), { class: "quiet" }), i + 1 < list.length && button(t("Down"), move(i + 1), { class: "quiet" }),
    button(t("Remove"), () => {
      list.splice(i, 1);
      draw();
    }, { class: "quiet" }),
  ];
  return h("fieldset", { class: "part", data: { place: String(i) } }, h("legend", {}, `${i + 1}. ${KINDS[question.kind]}`), h("div", { class: "fields" },
    input("label", t("Question"), question.label[code] ?? "", (text) => (question.label = labelOf(code, text, others(question.label))), { whole: true }),
    input("label", t("In other languages"), others(question.label).map(([at, text]) => `${at} = ${text}`).join("\n"), (text) => {
      question.label = labelOf(code, question.label[code], lines(text).map(halves));
    }, { rows: 2, help: t("One per line: de = Wie viele Jahre?") }),
    kindField(question),
    input("name", t("Name in files and reports"), question.name, (text) => (question.name = text.trim())),
    choosing && input("options", t("Answers"), question.options.map(optionLine).join("\n"), (text) => (question.options = lines(text).map(optionOf)), { rows: 4, help: t("One per line: value = what raters read | de = was sie auf Deutsch lesen") }),
    question.kind === "number" && [numeric(question, "minimum", t("At least")), numeric(question, "maximum", t("At most"))],
    question.kind !== "note" && h("div", { class: "checks" }, check("required", t("An answer is required"), question.required ?? false, (on) => (question.required = on)),
      question.kind === "choice" && check("group", t("Reports may compare raters by the answer"), question.group ?? false, (on) => (question.group = on)))),
  acts && h("p", { class: "actions" }, acts.filter(Boolean)));
}

function freeName() {
  const taken = new Set(Object.values(asked).flat().map((one) => one.name));
  for (let n = 1; ; n += 1) if (!taken.has(`question${n}`)) return `question${n}`;
}

function drawMoment(moment) {
  const list = asked[moment];
  const add = button(t("Add a question"), () => {
    list.push({ name: freeName(), kind: "text", label: { [language()]: t("What do you want to ask?") } });
    draw();
  }, { class: "quiet" });
  const biography = button(t("Add a language biography"), () => resting(biography, async () => {
    const taken = new Set(Object.values(asked).flat().map((one) => one.name));
    list.push(...(await get("/v1/questionnaires/language-biography")).questions.filter((one) => !taken.has(one.name)));
    draw();
  }), { class: "quiet" });
  return h("section", { data: { moment, place: moment } }, h("h2", {}, MOMENTS[moment]), list.length ? list.map((_, i) => drawQuestion(list, i)) : h("p", { class: "quiet" }, t("There are no questions.")),
    draft && h("p", { class: "actions" }, add, biography));
}

function draw() {
  fill(place, Object.keys(MOMENTS).map(drawMoment));
  later();
}

function later() {
  if ($("#saved")) $("#saved").textContent = "";
  const sections = Object.entries(MOMENTS).filter(([moment]) => asked[moment].length).map(([moment, title]) =>
    [h("h3", {}, title), drawQuestions(asked[moment].map((one) => ({ options: [], ...one })), null).element]);
  fill(shown, sections.length ? sections : h("p", { class: "quiet" }, t("There are no questions.")));
}

async function save() {
  seen = await saveWhole("questionnaires", asked, seen, said);
}

const answered = (given, name) => [given?.[name] ?? null].flat().join(", ") || null;

// One column for each question; what they are is known once these are read.
const questions = () => Object.entries(asked).flatMap(([moment, list]) => list.filter((one) => one.kind !== "note").map((one) => [moment, one.name]));
const listOfAnswers = () => new Browse($("#answers"), {
  label: t("What raters answered"),
  path: `${api}/questionnaires/answers`,
  key: (row) => row.rater,
  sort: "rater",
  search: t("Search by rater, team or answer"),
  filters: [{ name: "answered", label: t("State"), value: "true", options: [["true", t("answered")], ["false", t("not answered")], ["", t("all")]] }],
  columns: [
    { head: t("Rater"), sort: "rater", cell: (row) => h("a", { href: `${here}/raters/${encodeURIComponent(row.rater)}` }, row.rater) },
    ...questions().map(([moment, name]) => ({ head: name, cell: (row) => answered(row[moment], name), look: "text" })),
  ],
  nothing: { icon: "message", title: t("Nobody has answered yet."), text: t("Raters' answers are listed here.") },
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (send) resting(send, save);
});
if (send) send.disabled = true;
await reading(place, async () => {
  const now = await call("GET", `${api}/questionnaires`);
  if (!now.ok) throw new Refused(told(now));
  seen = now.etag;
  asked = now.body;
  for (const one of Object.values(asked).flat()) for (const [name, value] of Object.entries(one)) if (value === null) delete one[name];
  if (send) send.disabled = false;
  draw();
})();
const asks = asked && questions().length > 0;
if (asks) await listOfAnswers().open();
else $("#answers").removeAttribute("aria-busy"); // where it is not known what is asked, neither is what was answered
if (asked) $("#of-answers").hidden = !asks;
if (asked && !draft) $("#as-raters-see").hidden = !Object.values(asked).flat().length;
document.querySelector("#main").dataset.ready = "yes";
