// A key that cannot be one is told in the page's own words, in the form, not over the hint by the browser.

import { t } from "../shared/messages.js";
import { refuseField } from "./parts.js";

export function checkKey(form) {
  const input = form.elements.key;
  input.addEventListener("invalid", (event) => {
    if (!input.validity.patternMismatch) return;
    event.preventDefault();
    refuseField(form, "key", t("This is not a valid key. Use only letters, digits and . _ ~ : @ + -, without spaces."));
  });
}

// "TED-Vorträge, EN–DE" → "ted-vortrage-en-de"
export const keyFrom = (name) => name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);

// The key follows the name until somebody writes one.
export function fillKeyFromName(form) {
  const { key, name } = form.elements;
  let own = key.value !== "";
  if (!own) key.value = keyFrom(name.value);
  key.addEventListener("input", () => (own = key.value !== ""));
  name.addEventListener("input", () => {
    if (!own) key.value = keyFrom(name.value);
  });
}
