// What the page says. A message is named by its English text; the catalogue of another language is fetched once.

let known = Object.create(null);

// What a campaign says in its own words counts before the catalogue.
export async function loadMessages() {
  const own = JSON.parse(document.querySelector("meta[name=phrases]")?.content ?? "{}");
  known = Object.assign(Object.create(null), own);
  const address = document.querySelector("meta[name=messages]")?.content;
  if (!address) return;
  try {
    const answer = await fetch(address);
    if (answer.ok) known = Object.assign(Object.create(null), await answer.json(), own);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // without a network the page speaks English
  }
}

// What the interface refuses with, found by pattern as numbers and names stand in it: [pattern, how it is said].
// `app/ui/error_messages.py` does the same for what the server shows.
let patterns = null;
const DEEPEST = 3; // how often what stands in a message is itself looked up
const LONGEST = 1_000; // characters of a message that is looked up

export async function loadRefusals() {
  const address = document.querySelector("meta[name=refusals]")?.content;
  if (!address || patterns) return;
  try {
    const answer = await fetch(address);
    if (answer.ok) patterns = Object.entries(await answer.json()).map(pattern).sort((a, b) => b[2] - a[2]);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // without a network the page speaks English
  }
}

function pattern([message, said]) {
  const parts = message.split(/\{\w+\}/);
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return [new RegExp(`^${escaped.join("(.+?)")}$`, "su"), said, parts.join("").length];
}

function refusal(message, depth = 0) {
  if (!patterns || depth === DEEPEST || message.length > LONGEST) return null;
  for (const [like, said] of patterns) {
    const values = like.exec(message)?.map((one, n) => (n ? value(one, depth + 1) : one));
    if (values && !values.includes(null)) return said.replace(/\{(\d)\}/g, (_place, n) => values[n]);
  }
  return null;
}

function value(text, depth) {
  if (/^(?:\d{1,3}(?:,\d{3})*|\d+)$/.test(text)) return number(Number(text.replaceAll(",", "")));
  if (known[text] !== undefined) return t(text);
  return refusal(text, depth) ?? (/[a-z]{2} [a-z0-9]/.test(text) ? null : text); // half a sentence helps nobody
}

export function t(message, values = {}) {
  const entry = known[message] ?? refusal(message) ?? message.split("|")[0];
  return put(typeof entry === "string" ? entry : entry.other, values);
}

const put = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));

// The language of a text that came from elsewhere, such as a protocol's rubric, where it is not the page's.
export const languageOf = (message) => (message in known || language() === "en" || refusal(message) !== null ? null : "en");

// Of texts by language, the one in the language of the page.
export const inOwnLanguage = (texts) => texts[language()] ?? texts.en ?? Object.values(texts)[0];

export const language = () => document.documentElement.lang || "en";

// Dates in English are those of Britain, whose order of day and month most of the world knows.
// Arabic has the digits of the texts around it, as our tables have them.
export const locale = () => ({ en: "en-GB", ar: "ar-u-nu-latn" })[language()] ?? language();

// A number of things, named by its two English texts. A language with other forms of plural has them under the second.
export function count(n, one, many, values = {}) {
  const form = new Intl.PluralRules(language()).select(n);
  const forms = known[many];
  const told = { n: number(n), ...values };
  if (forms === undefined || typeof forms === "string") return t(form === "one" ? one : many, told);
  return put(forms[form] ?? forms.other, told);
}

export function number(value, digits = 0, least = 0) {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits, minimumFractionDigits: least }).format(value).replace("-", "−"); // as in tables of the server
}
