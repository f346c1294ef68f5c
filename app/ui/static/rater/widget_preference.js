// The columns of a screen in groups, from best to worst; those of one group are equal.

import { fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";

export function make(widget, context) {
  if (widget.settings.mode === "best_worst") return bestAndWorst(widget, context);
  return widget.settings.mode === "best" ? best(widget, context) : ranking(widget, context);
}

// One that is best and one that is worst; what lies between is not compared.
function bestAndWorst({ field }, { answer, set }) {
  const ends = [["best", t("Which text is best?")], ["worst", t("Which text is worst?")]].map(([end, legend]) => {
    const name = fresh(end);
    const inputs = columnsOf(answer).map(
      (column) => h("input", { type: "radio", name, value: String(column), onchange: () => said() }),
    );
    const points = inputs.map((input) => h("label", { class: "point" }, input, t("Text {n}", { n: input.value })));
    return { inputs, element: h("fieldset", { class: "choice compact" }, h("legend", {}, legend), points) };
  });
  const chosen = ({ inputs }) => Number(inputs.find((input) => input.checked)?.value ?? 0);
  const said = () => {
    const [first, last] = ends.map(chosen);
    const between = columnsOf(answer).filter((column) => column !== first && column !== last);
    const whole = first && last && first !== last;
    set({ [field]: whole ? [[first], between, [last]].filter((group) => group.length) : undefined }, "score");
  };
  const show = () => {
    const stored = answer.values[field];
    if (!stored) return;
    ends.forEach(({ inputs }, i) => inputs.forEach(
      (input) => (input.checked = Number(input.value) === stored.at(i ? -1 : 0)[0]),
    ));
  };
  show();
  return { element: h("div", {}, ends.map((one) => one.element)), show, focus: () => ends[0].inputs[0].focus() };
}

const columnsOf = (answer) => Array.from({ length: answer.columns }, (_, i) => i + 1);

function best({ field }, { answer, set }) {
  const boxes = columnsOf(answer).map((column) => {
    const input = h("input", { type: "checkbox", value: String(column), onchange: () => said() });
    return { column, input, element: h("label", { class: "point" }, input, t("Text {n}", { n: column })) };
  });
  const said = () => {
    const chosen = boxes.filter((box) => box.input.checked).map((box) => box.column);
    const others = boxes.filter((box) => !box.input.checked).map((box) => box.column);
    set({ [field]: chosen.length ? [chosen, others].filter((group) => group.length) : undefined }, "score");
  };
  const show = () => boxes.forEach(
    (box) => (box.input.checked = answer.values[field]?.[0].includes(box.column) ?? false),
  );
  show();
  const legend = h("legend", {}, t("Which texts are best? Several can be equally good."));
  return {
    element: h("fieldset", { class: "choice" }, legend, boxes.map((box) => box.element)),
    show,
    focus: () => boxes[0].input.focus(),
  };
}

function ranking({ field }, { answer, set }) {
  const ranks = new Map();
  const selects = columnsOf(answer).map((column) => {
    const id = fresh("rank");
    const options = [
      h("option", { value: "" }, "–"),
      ...columnsOf(answer).map((n) => h("option", { value: String(n) }, String(n))),
    ];
    const select = h("select", { id, onchange: () => said(column, Number(select.value)) }, options);
    return {
      column,
      select,
      element: h("div", { class: "rank" }, h("label", { for: id }, t("Text {n}", { n: column })), select),
    };
  });
  const said = (column, rank) => {
    if (rank) ranks.set(column, rank);
    else ranks.delete(column);
    set({ [field]: ranks.size === answer.columns ? groups(ranks) : undefined }, "score");
  };
  const show = () => {
    const stored = answer.values[field];
    if (stored) {
      ranks.clear();
      let place = 1;
      for (const group of stored) {
        group.forEach((column) => ranks.set(column, place));
        place += group.length;
      }
    }
    selects.forEach(({ column, select }) => (select.value = ranks.get(column) ?? ""));
  };
  show();
  const legend = h("legend", {}, t("Rank the texts: 1 is best; equal texts get the same number."));
  return {
    element: h("fieldset", { class: "choice ranks" }, legend, selects.map((one) => one.element)),
    show,
    focus: () => selects[0].select.focus(),
  };
}

// By their numbers, whichever were used: 1, 1, 3 and 1, 1, 2 say the same.
function groups(ranks) {
  const found = new Map();
  for (const [column, rank] of ranks) found.set(rank, [...(found.get(rank) ?? []), column]);
  return [...found.keys()].sort((a, b) => a - b).map((rank) => found.get(rank).sort((a, b) => a - b));
}
