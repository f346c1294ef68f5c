// Asking for a text in a dialog, which stays while what it is for fails.

import { dialog, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { resting } from "./parts.js";

// then(text, said) → whether it is done.
export function ask(title, label, name, then, { longest = 2000 } = {}) {
  const id = fresh("text");
  const text = h("textarea", { id, data: { place: "reason|text|answer" }, rows: "3", maxlength: String(longest), required: true });
  const said = h("p", { class: "said", role: "alert" });
  const go = h("button", { type: "submit" }, name);
  const form = h("form", { class: "field" }, h("label", { for: id }, label), text, said, h("p", { class: "actions", data: { answers: "" } }, go));
  const box = dialog(title, form, { closeLabel: t("Back") });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    resting(go, async () => {
      if (await then(text.value.trim(), said)) box.close();
    });
  });
}

export const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

// A time of the API as a field has it, in the time of this browser, and back.
export function localTime(iso) {
  if (!iso) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export const absolute = (text) => (text ? new Date(text).toISOString() : null);
