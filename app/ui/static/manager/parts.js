// What the pages of a campaign share: tables, figures, and forms that say what went wrong where.

import { call, idempotencyKey, Unreachable, why } from "../shared/api.js";
import { $, bringIntoView, button, dialog, fill, h } from "../shared/dom.js";
import { markFields, mergeLines, refuseFields, unmark } from "../shared/fields.js";
import { language, languageOf, loadMessages, locale, number, t } from "../shared/messages.js";

await loadMessages(); // before any module that imports this one runs, so that it can speak at once

export const main = $("#main");
export const api = main.dataset.api ?? "";
export const here = `/campaigns/${encodeURIComponent(main.dataset.campaign ?? "")}`;
export const NONE = "–";
export const STATES = { draft: t("draft"), planned: t("planned"), open: t("open"), paused: t("paused"), closed: t("closed") };

export const figure = (value, digits = 0) => (value === null || value === undefined ? NONE : number(value, digits));
// The same with all its decimals, so that those of a column stand below one another.
export const decimal = (value, digits) => (value === null || value === undefined ? NONE : number(value, digits, digits));
export const percent = (share) => (share === null || share === undefined ? NONE : `${figure(100 * share, 1)} %`);
export const hours = (seconds) => `${figure(seconds / 3600, 1)} h`;

export function moment(iso) {
  if (!iso) return NONE;
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

// A time as short as it can be told apart: of today the hour, of this year the day. The whole of it is its title.
export function brief(iso) {
  if (!iso) return null;
  const [at, now] = [new Date(iso), new Date()];
  const day = at.getFullYear() === now.getFullYear() ? { day: "numeric", month: "short" } : { dateStyle: "medium" };
  const shown = new Intl.DateTimeFormat(locale(), at.toDateString() === now.toDateString() ? { timeStyle: "short" } : day).format(at);
  return h("time", { datetime: iso, title: moment(iso) }, shown);
}

// A text of the interface, which is in English: as the page says it where it knows how, else marked as English.
export function foreign(text) {
  if (text === null || text === undefined || text === "") return null;
  if (languageOf(text)) return h("span", { lang: "en" }, text);
  return language() === "en" ? text : t(text);
}

const FIRST_WORD = new RegExp("^[a-z]+'?(?=[ ,;:])");
const CODE = new RegExp("`([^`]+)`");

// A text of the interface as a sentence: with a capital, and code as code.
export function sentence(text) {
  if (!text) return null;
  const shown = language() === "en" || languageOf(text) ? text : t(text);
  const parts = shown.replace(FIRST_WORD, (word) => word[0].toUpperCase() + word.slice(1)).split(CODE);
  return h("span", { lang: languageOf(text) }, parts.map((part, n) => (n % 2 ? h("code", {}, part) : part)));
}

export const warned = (texts) => texts.map((text) => h("p", { class: "note" }, h("b", {}, t("Warning:")), " ", sentence(text)));

// The columns in which some row has something.
export const filledColumns = (columns, rows) => columns.filter(([, cell]) => rows.some((row) => ![null, undefined, NONE, "", false].includes(cell(row))));

// A number as it was typed: with the mark that the page's language has before decimals, or with a point.
const MARK = new Intl.NumberFormat(language()).formatToParts(1.5).find((part) => part.type === "decimal").value;
export const numeral = (text) => Number(text.replace(MARK, "."));

// A number as it stands in a field, which `numeral` reads again: without marks between thousands.
const PLAIN = new Intl.NumberFormat(language(), { useGrouping: false, maximumFractionDigits: 10 });
export const written = (value) => (value === null || value === undefined ? "" : PLAIN.format(value));

// What went wrong is brought into view; what a page only notes leaves it where it is.
function see(place) {
  if (place.textContent && place.getAttribute("role") === "alert") bringIntoView(place);
}

// Say something in the page's own language; nothing where a form begins anew …
export function say(place, text) {
  if (!text) unmark(place.closest("form"));
  place.removeAttribute("lang");
  place.textContent = text;
  see(place);
}

// … or what the interface says of a problem: a text of it, or what `told` makes of an answer.
export function tell(place, said) {
  place.removeAttribute("lang");
  fill(place, typeof said === "string" ? foreign(said) : said);
  see(place);
}

// What stands before a cell where a row is shown as a card, on a phone.
export const labelled = (heading) => ({ label: typeof heading === "string" ? heading : heading?.textContent ?? "" });

// columns: [heading, cell of a row, class, further class of a row's cell]. A cell is text, an element or null. A table whose
// cells are shaded is a map, which stays one on a phone.
export function table(label, columns, rows) {
  const cards = columns.length > 3 && !columns.some(([, , , shade]) => shade);
  const heads = columns.map(([heading, , look]) => h("th", { scope: "col", class: look }, heading));
  const lines = rows.map((row) => h("tr", {}, columns.map(([heading, cell, look, shade]) =>
    h("td", { class: shade ? `${look} ${shade(row)}` : look, dir: look === "text" ? "auto" : null, data: cards ? labelled(heading) : {} }, cell(row) ?? NONE))));
  const all = h("table", { class: cards ? "cards" : null }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines));
  return h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, all);
}

const ICONS = new URL("../icons.svg", import.meta.url).pathname;
const SVG = "http://www.w3.org/2000/svg";

// A picture beside a word that says the same, from the set that comes with the service.
export function icon(name) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "icon");
  picture.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${ICONS}#${name}`);
  picture.append(use);
  return picture;
}

// Where there is nothing yet: what would be here, and how it gets here.
export const empty = ({ icon: name, title, text, action }) =>
  h("div", { class: "empty" }, icon(name), h("p", { class: "title" }, title), h("p", {}, text), action);

// A state as a word with a colour.
export const badge = (state, word) => h("span", { class: `badge is-${state}` }, word);

export const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.map(([name, value, beside]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value, beside ? h("small", {}, beside) : null))));

const ACTORS = JSON.parse(main.dataset.actors ?? "{}");

// Who did something: a token by what it is for, where the page knows that; the whole as a title.
export function actorName(actor) {
  const prefix = /^token:(.+)$/.exec(actor ?? "")?.[1];
  const name = ACTORS[actor] ?? (prefix ? t("token {prefix}…", { prefix: prefix.slice(0, 6) }) : actor);
  return name === null || name === undefined ? null : h("span", { title: actor }, name);
}

// Where what is shown is fetched. links: [name, address].
export const fetched = (links) => h("p", { class: "fetch" }, t("Fetch:"), links.map(([name, href]) => h("a", { href }, name)));

// The first page of a list as it is fetched, as long as pages may be; `next` in it says how it goes on.
export const listed = (path) => ["JSON", `${path}${path.includes("?") ? "&" : "?"}limit=200`];

// What is shown and has no address of its own, as a file.
export function inHand(body, name) {
  const href = URL.createObjectURL(new Blob([JSON.stringify(body, null, 2)], { type: "application/json" }));
  return h("p", { class: "fetch" }, t("Fetch:"), h("a", { href, download: `${main.dataset.campaign}-${name}.json` }, "JSON"));
}

// Words alone: what is told of "a.tsv, line 3" is what is told of a.tsv › 3.
const bare = (...parts) =>
  ` ${parts.filter((part) => part !== "body").join(" ").replace(/, line (?=\d)/g, " ").replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;

// The places that a sentence quotes, each with what is wrong there; one of another place that sounds alike is none.
function quoted(words, places) {
  const [only] = places;
  if (places.length === 1 && [...only.loc, only.msg].every((part) => part === "body" || words.includes(part))) return [only];
  let left = bare(words);
  return places.map((one) => [bare(...one.loc, one.msg), one]).sort(([a], [b]) => b.length - a.length).filter(([quote]) => {
    const found = left.includes(quote);
    left = left.replace(quote, " | "); // is quoted once
    return found;
  }).map(([, one]) => one);
}

// The title of a problem where its particulars are a key alone, as `why` has it, each part by itself.
function wordsOf(answer, words) {
  const { detail, title } = answer.body ?? {};
  return words === `${title}: ${detail}` ? [foreign(title), ": ", detail] : [foreign(words)];
}

// What a problem says, with the places that it names, a line each, as the page says it or marked as English; a place
// that its words quote is not told again.
export function told(answer) {
  const [words, places] = [why(answer), answer.body?.errors ?? []];
  const said = quoted(words, places);
  const further = mergeLines(places.filter((one) => !said.includes(one)));
  return [wordsOf(answer, words), ...further.map((one) => {
    const where = one.loc.filter((part) => part !== "body").join(" › ");
    return ["\n", where, where && one.msg ? ": " : "", foreign(one.msg)];
  })].flat();
}

// Tell what an answer refuses: beside the fields of the form that it names, the rest in a place.
export function refuse(place, answer, form = place.closest("form")) {
  const rest = refuseFields(form, answer);
  if (rest) tell(place, told(rest));
}

// The same of what the page itself finds wrong with a field. path: the field's place.
export const refuseField = (form, path, text) => markFields(form, [{ loc: path ? path.split(".") : [], msg: text, own: true }]);

// Ask for a change, once however often it is sent. → the answer, or null after saying what went wrong.
// form: whose fields are sent, where it is not the one that `said` stands in. refused: hears of the answer that said it.
export async function change(method, path, { body, said, form = said.closest("form"), headers = {}, key = idempotencyKey(), timeout, refused = () => {} } = {}) {
  say(said, "");
  unmark(form);
  const sent = method === "POST" ? { "Idempotency-Key": key, ...headers } : headers;
  try {
    const answer = await call(method, path, { body, headers: sent, timeout });
    if (answer.ok) {
      showNextStep();
      return answer;
    }
    refuse(said, answer, form);
    refused(answer);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(said, t("The server cannot be reached. Try again in a moment."));
  }
  return null;
}

// What comes next on the campaign's way, after something was changed: the page says it, and is asked for it again.
export async function showNextStep() {
  const shown = $("#next-step");
  if (!shown) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of ["#next-step", ".menu"]) { // the menu says what can be used now
    const [now, anew] = [$(part), $(part, page)];
    if (now && anew && !now.isEqualNode(anew) && (part === "#next-step" || !now.contains(document.activeElement))) now.replaceWith(document.adoptNode(anew));
  }
}

// A step that is one request is done where it is told, and its page shows what came of it.
document.addEventListener("click", (event) => {
  const step = event.target.closest("#next-step [data-post]");
  if (step) resting(step, async () => (await change("POST", `${api}/${step.dataset.post}`, { said: $("#said") ?? $(".said") })) && location.assign(step.dataset.then));
});

export class Refused extends Error {
  // said: what `told` makes of an answer.
  constructor(said, status = 0) {
    super(said.map((one) => one?.textContent ?? one ?? "").join(""));
    this.said = said;
    this.status = status;
  }
}

// What the page said is not there yet, each until it is first asked for: asking would be an error in the console.
const missing = new Set((main.dataset.absent ?? "").split(" ").filter(Boolean).map((end) => api + end));

// What there is at an address; `absent` where it leads nowhere. Throws Refused with what the interface says.
export async function get(path, { absent, timeout } = {}) {
  if (absent !== undefined && missing.delete(path)) return absent;
  const answer = await call("GET", path, { timeout });
  if (answer.ok) return answer.body;
  if (answer.status === 404 && absent !== undefined) return absent;
  throw new Refused(told(answer), answer.status);
}

// A list, page after page until there are `most` entries. → {items, next}; next: null where these are all.
export async function some(path, most) {
  const found = [];
  let cursor = null;
  do {
    const address = new URL(path, location.origin);
    address.searchParams.set("limit", "200");
    if (cursor) address.searchParams.set("cursor", cursor);
    const { items, next } = await get(address.pathname + address.search);
    found.push(...items);
    cursor = next;
  } while (cursor && found.length < most);
  return { items: found, next: cursor };
}

export const all = async (path) => (await some(path, Infinity)).items;

// A button rests while what it began is under way.
export async function resting(button, work) {
  button.disabled = true;
  try {
    return await work();
  } finally {
    button.disabled = false;
  }
}

// Ask before what cannot be undone; the browser's own question would stop everything else. look: of the button.
export function sure(title, question, label, then, look = "danger") {
  const go = button(label, () => {
    box.close();
    then();
  }, { class: look });
  const box = dialog(title, [h("p", {}, question), h("p", { class: "actions", data: { answers: "" } }, go)], { closeLabel: t("Back") });
}
