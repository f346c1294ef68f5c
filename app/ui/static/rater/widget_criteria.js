// One scale for each criterion: points where there are few, else a slider.

import { h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { points } from "./widget_choice.js";
import { scale } from "./widget_slider.js";

const FEW = 11;

export function make(widget, { answer, set }) {
  const { field, settings } = widget;
  const made = settings.criteria.map((one) => {
    const said = (value) => set({ [field]: { ...answer.values[field], [one.name]: value } }, "score");
    return [one.name, criterion(one, answer.values[field]?.[one.name], said)];
  });
  return {
    element: h("div", { class: "criteria" }, made.map(([, part]) => part.element)),
    relate: (shareOf) => made.forEach(([name, part]) => part.relate?.(shareOf(field, name))),
    show: () => made.forEach(([name, part]) => part.show(answer.values[field]?.[name])),
    focus: () => (made.find(([name]) => answer.values[field]?.[name] === undefined) ?? made[0])[1].focus(),
  };
}

function criterion({ title, minimum, maximum, step, ticks, points: answers }, value, said) {
  const label = t(title);
  if (answers?.length) return points({ label, options: answers, plain: true }, value, said);
  if (!step || (maximum - minimum) / step >= FEW) return scale({ label, minimum, maximum, step, ticks }, value, said);
  const named = new Map(ticks);
  const n = Math.round((maximum - minimum) / step) + 1;
  const values = Array.from({ length: n }, (_, i) => Number((minimum + i * step).toFixed(7)));
  return points({ label, options: values.map((at) => [at, named.get(at) ?? ""]) }, value, said);
}
