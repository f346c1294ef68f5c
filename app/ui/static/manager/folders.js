// A folder as one chooses it: what of it is read. A test set of mt-metrics-eval holds many language pairs and scores.

import { fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";

const OF_A_PAIR = /(?:^|\/)(sources|documents|references|system-outputs|human-scores|metric-scores)\/([^/.-]+-[^/.]+)[./]/;
const ASKED_FOR = { "human-scores": "human", "metric-scores": "metric" }; // are read where an option names them

// → without what the machine of its owner keeps in every folder.
export const visible = (files) => [...files].filter((file) => !/(^|\/)\./.test(file.webkitRelativePath));

export const isTestSet = (files) => files.some((file) => OF_A_PAIR.test(file.webkitRelativePath));

const partOf = (file) => OF_A_PAIR.exec(file.webkitRelativePath)?.slice(1) ?? [null, null];

// The field of the language pair, with those that there are.
export function pairField(files, attributes) {
  const id = fresh("pair");
  const pairs = [...new Set(files.map((file) => partOf(file)[1]).filter(Boolean))].sort();
  return h("div", { class: "field" }, h("label", { for: id }, t("Language pair")), h("select", { id, ...attributes }, pairs.map((one) => h("option", {}, one))));
}

// → the files of a language pair that are read with these options.
export const ofPair = (files, options) => files.filter((file) => {
  const [kind, pair] = partOf(file);
  return pair === options.language_pair && (!ASKED_FOR[kind] || options[ASKED_FOR[kind]]);
});

// Names in addresses hold no slash; the format reads a colon in its place.
export const pathOf = (file) => file.webkitRelativePath.replaceAll("/", ":");
