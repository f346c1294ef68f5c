// Comments on an output or a screen, where the campaign asks for them: they go the way of answers (`outbox.js`), and a
// task is whole without any.

import { h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { storedOf } from "./offline.js";

const PLACE = "comment/";
const LONGEST = 4000; // characters, as the server has it

export const isComment = (place) => place.startsWith(PLACE);

const ofOutput = ({ item, segment }) => (segment === null ? `${item}` : `${item}/${segment}`);

const placeOf = (one) => (one.screen === null ? ofOutput(one) : `screens/${one.screen}`);

const storedComments = (task) => [...storedOf(task)].filter(([place]) => isComment(place)).map(([place, said]) => [place.slice(PLACE.length), said.payload.text]);

export class Comments {
  // What the browser kept goes over what the server has.
  constructor(task, outbox) {
    const asked = task.comments ?? { output: false, screen: false, own: [] };
    Object.assign(this, { task: task.task, outbox, asked });
    this.texts = new Map(asked.own.map((one) => [placeOf(one), one.text]));
    for (const [place, text] of storedComments(task.task)) this.texts.set(place, text);
    for (const [place, entry] of outbox.entries(task.task)) if (isComment(place)) this.texts.set(place.slice(PLACE.length), entry.payload.text);
  }

  // Of an output: beside its questions.
  output(answer, label) {
    if (!this.asked.output || answer.item === null) return null;
    return this.box(ofOutput(answer), label ?? t("Comment on this text"));
  }

  // Of all that stands on a screen.
  screen(screen) {
    return this.asked.screen ? this.box(`screens/${screen.screen}`, t("Comment on this page")) : null;
  }

  box(place, label) {
    const text = this.texts.get(place) ?? "";
    const field = h("textarea", { "aria-label": label, rows: "2", maxlength: String(LONGEST), dir: "auto" });
    field.value = text;
    field.addEventListener("input", () => this.set(place, field.value));
    const box = h("details", { class: "comment" }, h("summary", {}, label), field); // a label in it would take its clicks
    box.open = Boolean(text);
    return box;
  }

  set(place, text) {
    this.texts.set(place, text);
    const path = `/v1/tasks/${this.task}/comments/${place}`;
    this.outbox.put(this.task, `${PLACE}${place}`, path, { text }, 0);
  }
}
