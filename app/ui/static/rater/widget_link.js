// An address on the web, which may be left out.

import { fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";

export function make(widget, { answer, set }) {
  const id = fresh("link");
  const { field, settings } = widget;
  const input = h(
    "input",
    {
      id,
      type: "url",
      maxlength: String(settings.most),
      pattern: "https?://[^\\s<>\"]{1,1990}",
      placeholder: "https://",
    },
  );
  const show = () => (input.value = answer.values[field] ?? "");
  input.addEventListener("input", () => {
    if (input.validity.valid) set({ [field]: input.value || null }, "edit");
  });
  show();
  return {
    element: h("div", {}, h("label", { for: id }, t("Link (optional)")), input),
    show,
    focus: () => input.focus(),
  };
}
