// Practice: a worked example under the same widgets as a task. Nothing of it is stored anywhere.

import { button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Answer } from "./answers.js";
import { Row } from "./row.js";

// How the two texts of an item or of an example are laid out, where tags in them are.
export const layoutOf = ({ markup }) => (markup ? { source: markup.source, output: markup.text } : null);

// n: which of several on the page it is. shown: {source, output, prefill}. form: of a segment or a document, as the task or the protocol has it.
export function practice(shown, form, locale, { after = () => [], heard = () => {}, n = 1 } = {}) {
  const texts = form.labels.map((label, i) => text(label, i, form, shown));
  const answer = new Answer(
    "1/1",
    form.level,
    form.widgets,
    { item: 1, segment: 1, prefill: shown.prefill, output: shown.output },
    null,
    null,
  );
  const screen = {
    locale,
    answers: { done: () => answer.whole },
    open: () => {},
    tools: () => after(answer, () => row),
    setter: () => (values, kind, { confirmed = answer.confirmed } = {}) => {
      Object.assign(answer.values, values);
      answer.confirmed = confirmed;
      answer.state = "practice";
      row.refresh(answer);
      heard(answer);
    },
  };
  const row = new Row(screen, n, [{ segment: { texts }, answer }], { alone: true });
  row.open();
  return { element: h("div", { class: "sheet practice" }, row.element), answer, row };
}

function text(label, i, form, { source, output, markup = null }) {
  const own = i === form.labels.length - 1;
  const hidden = !form.labels.includes("Text") && form.labels.length === 2;
  const side = hidden ? null : own ? "target" : label === "Source" ? "source" : null;
  return { label, text: (own ? output : source) ?? "", side, markup: (own ? markup?.output : markup?.source) ?? null };
}

// One after another, each with the judgment that was worked out, once the reader has given their own.
export function practiceAll(examples, form, locale) {
  const place = h("div");
  let n = 0;
  const show = () => {
    const example = examples[n];
    const solution = h("div", { role: "status" });
    const reveal = () => fill(solution, worked(example, form, locale));
    const go = (by) => button(
      by > 0 ? t("Next example") : t("Previous example"),
      () => ((n += by), show()),
      { class: "quiet", disabled: !examples[n + by] },
    );
    const after = () => h("p", { class: "actions" }, button(t("Show how it was judged"), reveal), go(-1), go(1));
    const made = practice(example, form, locale, { after });
    fill(
      place,
      h(
        "p",
        { class: "quiet" },
        t("Example {n} of {total}. Nothing here is stored.", { n: n + 1, total: examples.length }),
      ),
      made.element,
      solution,
    );
  };
  show();
  return place;
}

// How an example was judged, drawn under the same widgets, where nothing can be changed.
export function worked(example, form, locale) {
  const made = practice({ ...example, prefill: null }, form, locale);
  const { protocol, ...values } = example.payload;
  Object.assign(made.answer.values, values);
  made.answer.confirmed = true;
  made.row.forms.forEach((one) => one.refresh());
  made.element.inert = true;
  return [
    h("h3", {}, t("How it was judged")),
    made.element,
    example.why ? h("p", {}, t("Why: {why}", { why: example.why })) : null,
  ];
}
