// Texts with all their judgments; every marked error drawn where it was marked.

import { call, Unreachable } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { pieces } from "../rater/marks.js";
import { all, api, figure, foreign, main, say, tell, told } from "./parts.js";

const form = $("#pick");
const place = $("#items");
const said = $("#said");
const SEVERITIES = {
  minor: t("minor"), major: t("major"), critical: t("critical"), neutral: t("neutral"), undecided: t("undecided"),
};

async function get(path) {
  const answer = await call("GET", path);
  if (!answer.ok) throw new Error(told(answer));
  return answer.body;
}

async function choices() {
  const [documents, systems] = [await all(`${api}/documents`), await all(`${api}/systems`)];
  fill(form.elements.document, documents.map((one) => h("option", { value: one.key }, one.name)));
  form.elements.system.append(...systems.map((one) => h("option", { value: one.key }, one.name)));
  const asked = new URLSearchParams(location.search);
  for (const name of ["document", "system"]) if (asked.get(name)) form.elements[name].value = asked.get(name);
  return [documents, systems];
}

const errorsOf = (judgment) => (Array.isArray(judgment.payload.errors) ? judgment.payload.errors : []);

function marksOf(judgment, side) {
  return errorsOf(judgment).map((error, index) => ({ ...error, index }))
    .filter((error) => (error.side ?? "target") === side && Number.isInteger(error.start))
    .map((error) => ({ start: error.start, end: error.end, index: error.index, kinds: [`is-${error.severity}`] }));
}

// What was marked, and where that is not the output itself.
function toldOf(error) {
  const where = error.omission ? `${t("omission")}, ` : error.side === "source" ? `${t("source")}, ` : "";
  return [`${where}${SEVERITIES[error.severity] ?? error.severity}`, error.category ? [", ", foreign(error.category)] : null];
}

const drawn = (text, marks, lang) => h("p", { dir: "auto", lang: lang || null, class: "drawn" }, pieces(text ?? "", marks));

// What was answered beside the errors, as it stands in the payload.
function answersOf({ payload }) {
  const rest = Object.entries(payload).filter(([name, value]) => !["protocol", "errors"].includes(name) && value !== null && typeof value !== "object");
  return rest.map(([name, value]) => `${name} ${value}`).join(", ");
}

function judged(one, source, output) {
  const notes = [one.role === "rating" ? "" : one.role, one.surplus ? t("surplus") : "", one.void ? t("set aside: {why}", { why: one.void }) : ""].filter(Boolean);
  const own = typeof one.payload.text === "string" ? one.payload.text : null;
  const source_ = marksOf(one, "source");
  return h("li", {},
    h("p", { class: "who" }, h("b", {}, one.rater), ` ${one.score === null ? "" : figure(one.score, 2)} `, h("span", { class: "quiet" }, [answersOf(one), ...notes].filter(Boolean).join("; "))),
    source_.length ? drawn(source, source_) : null,
    marksOf(one, "target").length ? drawn(output, marksOf(one, "target")) : null,
    own ? drawn(own, []) : null,
    errorsOf(one).length ? h("ul", { class: "errors-told" }, errorsOf(one).map((error) => h("li", {}, toldOf(error)))) : null);
}

function latest(judgments) {
  const found = new Map();
  for (const one of judgments) {
    const key = [one.task, one.item, one.segment, one.rater].join(" ");
    if (!found.has(key) || found.get(key).revision < one.revision) found.set(key, one);
  }
  return [...found.values()];
}

function segment(n, one, outputs, judgments) {
  const of = (system) => judgments.filter((each) => each.segment === n && each.systems.includes(system));
  return h("section", {}, h("h2", {}, t("Segment {n}", { n })), h("p", { class: "quiet" }, t("Source")), drawn(one.source, []),
    outputs.map(([system, texts]) => {
      const text = texts[n - 1]?.text;
      return h("section", { class: "output" }, h("h3", {}, system.name), drawn(text, []), of(system.key).length
        ? h("ul", { class: "judged" }, of(system.key).map((each) => judged(each, one.source, text)))
        : h("p", { class: "quiet" }, t("Not judged.")));
    }));
}

async function show([, systems]) {
  say(said, "");
  const document_ = form.elements.document.value;
  if (!document_) return fill(place, h("p", {}, t("There are no texts yet.")));
  const wanted = systems.filter((one) => [one.key, ""].includes(form.elements.system.value));
  const at = encodeURIComponent(document_);
  const [text, judgments] = [await get(`${api}/documents/${at}`), await all(`${api}/judgments?${new URLSearchParams({ document: document_ })}`)];
  const outputs = [];
  for (const system of wanted) outputs.push([system, (await get(`${api}/systems/${encodeURIComponent(system.key)}/outputs/${at}`)).segments]);
  const shown = latest(judgments);
  const whole = shown.filter((one) => one.segment === null);
  history.replaceState(null, "", `?${new URLSearchParams({ document: document_, system: form.elements.system.value })}`);
  return fill(place, text.segments.map((one, i) => segment(i + 1, one, outputs, shown)),
    whole.length ? h("section", {}, h("h2", {}, t("Document scores")), h("ul", { class: "judged" }, whole.map((one) => h("li", {}, `${one.systems.join(", ")}: `, judged(one, "", "").firstChild)))) : null,
    h("p", { class: "fetch" }, t("Fetch:"), h("a", { href: `${api}/judgments?${new URLSearchParams({ document: document_ })}` }, "JSON")));
}

async function tried(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error instanceof Unreachable) say(said, t("The server cannot be reached. Press the button to try again."));
    else tell(said, error.message);
    return null;
  } finally {
    place.removeAttribute("aria-busy");
  }
}

// What could not be loaded is asked for again by the button.
let known = null;
async function shown() {
  known ??= await tried(choices);
  if (known) await tried(() => show(known));
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  shown();
});
await shown();
main.dataset.ready = "yes";
