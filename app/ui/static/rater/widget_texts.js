// Texts to write, each by its name; one that begins as the output shows what was changed.

import { h } from "../shared/dom.js";
import { make as textedit } from "./widget_textedit.js";

export function make({ field, settings }, { answer, set, locale }) {
  const made = settings.texts.map((one) => {
    // The field of one text, seen as an answer of its own.
    const own = {
      get values() {
        return { [one.name]: answer.values[field]?.[one.name] };
      },
      get output() {
        return answer.output;
      },
    };
    const said = (values, kind) => set({ [field]: { ...answer.values[field], ...values } }, kind);
    return textedit(
      { field: one.name, settings: { start: one.start, most: one.most, label: one.title } },
      { answer: own, set: said, locale },
    );
  });
  return {
    element: h("div", { class: "texts-asked" }, made.map((part) => part.element)),
    show: () => made.forEach((part) => part.show()),
    focus: () => made[0].focus(),
  };
}
