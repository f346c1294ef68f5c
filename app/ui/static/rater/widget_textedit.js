// A text to write, with what changed shown below where it began as the output.

import { button, fresh, h, fill } from "../shared/dom.js";
import { differences } from "./diff.js";
import { t } from "../shared/messages.js";

export function make(widget, { answer, set, locale }) {
  const { field, settings } = widget;
  const id = fresh("text");
  const fromOutput = settings.start === "output";
  const area = h(
    "textarea",
    {
      id,
      rows: "3",
      maxlength: String(settings.most),
      dir: "auto",
      lang: fromOutput ? locale.target : locale.source,
      spellcheck: true,
    },
  );
  const changes = h("p", { class: "changes", dir: "auto", role: "group", "aria-label": t("What you changed") });
  const draw = () => {
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 4}px`;
    if (fromOutput) fill(changes, drawn(differences(answer.output ?? "", area.value, locale.target)));
  };
  const show = () => {
    const now = answer.values[field] ?? (fromOutput ? answer.output ?? "" : "");
    if (area.value !== now) area.value = now;
    draw();
  };
  area.addEventListener("input", () => {
    set({ [field]: area.value }, "edit");
    draw();
  });
  const back = button(t("Restore the original text"), () => {
    area.value = answer.output ?? "";
    area.dispatchEvent(new Event("input"));
    area.focus();
  }, { class: "quiet" });
  const label = settings.label ? t(settings.label) : fromOutput ? t("The corrected text") : t("Your text");
  const element = h(
    "div",
    { class: "textedit" },
    h("label", { for: id }, label),
    area,
    fromOutput ? [changes, back] : null,
  );
  area.value = answer.values[field] ?? (fromOutput ? answer.output ?? "" : "");
  requestAnimationFrame(draw);
  return { element, show, focus: () => area.focus() };
}

function drawn(parts) {
  if (parts.every((part) => part.kind === "same")) return h("span", { class: "quiet" }, t("Nothing is changed."));
  const tags = { same: "span", taken: "del", put: "ins" };
  return parts.map((part) => h(tags[part.kind], {}, part.text));
}
