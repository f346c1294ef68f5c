// Phrases of the raters' pages in a campaign's own words, kept among its settings. Those that fit the search are shown,
// the campaign's own ones first, then those of a task, and those of signing in last.

import { call, Unreachable } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { api, refuse, Refused, resting, say, told } from "./parts.js";
import { reading } from "./reading.js";

const MOST = 40; // fields at a time: who looks for one of five hundred phrases searches
const form = $("#wording");
const said = $(".said", form);
const place = $("#phrases");
const [language, search] = [form.elements.language, $("#search")];
const catalogues = JSON.parse(form.dataset.catalogues); // {language: address}, of all but English
const first = JSON.parse(form.dataset.first); // messages that raters read in a task, in their order
const loaded = {}; // {language: {message: as it is said}}
let seen = null; // {settings, etag}
let asked = []; // messages that are shown
let own = {}; // {language: {message: text}}

// English has no catalogue: its phrases are the names of those of another language. What all pages share stands first in
// a catalogue, and is what a campaign changes last.
async function phrasesOf(code) {
  const address = catalogues[code] ?? Object.values(catalogues)[0];
  loaded[code] ??= await (await fetch(address)).json();
  return Object.entries(loaded[code]).reverse().map(([message, entry]) =>
    [message, code in catalogues ? (typeof entry === "string" ? entry : entry.other) : message.split("|")[0]]);
}

const rank = (message, mine) => (message in mine ? -1 : first.includes(message) ? first.indexOf(message) : first.length);

async function show() {
  const [code, wanted] = [language.value, search.value.trim().toLowerCase()];
  const mine = own[code] ?? {};
  const fits = (await phrasesOf(code)).filter(([message, text]) =>
    !wanted || [message, text, mine[message] ?? ""].some((one) => one.toLowerCase().includes(wanted)));
  const shown = fits.sort(([a], [b]) => rank(a, mine) - rank(b, mine)).slice(0, MOST);
  asked = shown.map(([message]) => message);
  fill(place, shown.map(([message, text], n) => h("div", { class: "field" },
    h("label", { for: `phrase-${n}`, lang: code, dir: "auto" }, text),
    h("input", {
      id: `phrase-${n}`, data: { place: `settings.phrases.${code}.${n}` }, lang: code, dir: "auto", maxlength: "2000", autocomplete: "off", value: mine[message] ?? "",
      onchange: (event) => keep(code, message, event.target.value.trim()),
    }))));
  $("#counted").textContent = fits.length > MOST
    ? t("{n} phrases; the first {shown} are shown. Search for others.", { n: fits.length, shown: MOST })
    : count(fits.length, "{n} phrase", "{n} phrases");
}

function keep(code, message, text) {
  const { [message]: _, ...rest } = own[code] ?? {};
  own = { ...own, [code]: text ? { ...rest, [message]: text } : rest };
  $("#saved").textContent = "";
}

function read({ body, etag }) {
  seen = { settings: body.settings, etag };
  own = body.settings.phrases ?? {};
  return show();
}

// What is said of a language quotes the phrase that is meant.
function phraseOf({ loc, msg }) {
  const quoted = /^“(.+?)”/s.exec(msg)?.[1];
  const n = loc[2] === language.value && quoted ? asked.findIndex((message) => message.startsWith(quoted)) : -1;
  return { loc: n < 0 ? loc : [...loc, n], msg };
}

async function save() {
  say(said, "");
  const given = Object.fromEntries(Object.entries(own).filter(([, texts]) => Object.keys(texts).length));
  const { phrases: _, ...rest } = seen.settings;
  const settings = Object.keys(given).length ? { ...rest, phrases: given } : rest;
  try {
    const answer = await call("PATCH", api, { body: { settings }, headers: { "If-Match": seen.etag } });
    if (answer.ok) {
      await read(answer);
      $("#saved").textContent = t("Saved.");
    } else if (answer.status === 412) say(said, t("Somebody else has changed these settings. Reload the page to see them."));
    else refuse(said, { ...answer, body: { ...answer.body, errors: (answer.body?.errors ?? []).map(phraseOf) } });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(said, t("The server cannot be reached. Try again in a moment."));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), save);
});
language.addEventListener("change", show);
search.addEventListener("input", show);
$("button[type=submit]", form).disabled = true; // until it is seen what is changed
await reading(place, async () => {
  const now = await call("GET", api);
  if (!now.ok) throw new Refused(told(now));
  await read(now);
  $("button[type=submit]", form).disabled = false;
})();
