// One of few points, each with what it means.

import { fresh, h } from "../shared/dom.js";
import { number, t } from "../shared/messages.js";

// plain: the answers are words, whose values raters need not see.
export function points({ label, options, plain = false }, value, said) {
  const name = fresh("choice");
  const inputs = new Map();
  const line = ([at, anchor]) => {
    const input = h("input", { type: "radio", name, value: String(at), onchange: () => said(at) });
    inputs.set(at, input);
    return h("label", { class: "point" }, input, plain ? null : h("b", {}, number(at, 2)), anchor ? h("span", {}, t(anchor)) : null);
  };
  const anchors = options.filter(([, anchor]) => anchor).length;
  const element = h(
    "fieldset",
    { class: anchors * 2 > options.length ? "choice" : "choice compact" },
    h("legend", {}, label),
    options.map(line),
  );
  const show = (now) => inputs.forEach((input, at) => (input.checked = at === now));
  element.addEventListener("keydown", (event) => {
    const found = [...inputs.keys()].find((at) => String(at) === event.key);
    if (found === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    inputs.get(found).focus();
    show(found);
    said(found);
  });
  show(value);
  return {
    element,
    show,
    focus: () => (([...inputs.values()].find((one) => one.checked) ?? [...inputs.values()][0]).focus()),
  };
}

export function make(widget, { answer, set, label }) {
  const { field, settings } = widget;
  const made = points(
    { label: label ?? t("Choose a point"), options: settings.points },
    answer.values[field],
    (value) => set({ [field]: value }, "score"),
  );
  return { ...made, show: () => made.show(answer.values[field]) };
}
