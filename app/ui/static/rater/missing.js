// Why can't I submit? Each thing that is missing, by name, and the way to it.

import { button, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";

const MOST = 30;

export function missingList(work, jump) {
  const missing = work.answers.missing;
  if (!missing.length) return h("p", { class: "note" }, t("Nothing is missing now."));
  const lines = missing.slice(0, MOST).map(
    (answer) => h("li", {}, button(named(work, answer), () => jump(answer), { class: "link" }), `: ${said(answer)}`),
  );
  return [
    h("h2", {}, t("Why can’t I hand in?")),
    h("p", {}, count(missing.length, "One answer is missing:", "{n} answers are missing:")),
    h("ul", {}, lines, missing.length > MOST ? h("li", {}, "…") : null),
  ];
}

function said(answer) {
  if (answer.state === "conflict") return t("choose which of the two answers to keep");
  if (answer.state === "refused") return t("was not accepted");
  return answer.lacks.join(", ") || t("not judged");
}

export function named(work, answer) {
  const { screens } = work.task;
  const at = screens.findIndex((one) => one.screen === answer.screen);
  const parts = screens.length > 1 ? [t("Document {n}", { n: at + 1 })] : [];
  if (answer.level === "screen") parts.push(t("All texts compared"));
  else {
    parts.push(answer.segment ? t("Segment {n}", { n: answer.segment }) : t("The document as a whole"));
    const columns = screens[at].items;
    if (columns.length > 1) parts.push(t("Text {n}", { n: columns.indexOf(answer.item) + 1 }));
  }
  return parts.join(", ");
}
