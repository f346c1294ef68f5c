// What is refused of a form, beside the field that it names: marked, described, and a list above where there are several.
//
// A field stands for places of the request's body by its name, or by `data-place`: dotted paths, one or more with `|`
// between; an empty one stands for the whole. The `data-place` of what it stands in goes before. The field with the
// longest path that a refused place begins with has it.

import { fresh, h } from "./dom.js";
import { languageOf, t } from "./messages.js";

const CARRIERS = ["body", "query", "path", "header"];
const marked = new WeakMap(); // by form: [{controls, said}]

const ownPlace = (element, form) => element.dataset.place ?? (element !== form && element.name ? element.name : undefined);

// All paths that a control stands for; none where it stands for nothing.
function pathsOf(control, form) {
  if (ownPlace(control, form) === undefined) return [];
  let paths = [[]];
  for (let at = control; at; at = at === form ? null : at.parentElement) {
    const places = at === control ? ownPlace(control, form) : at.dataset.place;
    if (places) paths = places.split("|").flatMap((place) => paths.map((path) => [...place.split("."), ...path]));
  }
  return paths;
}

const beginsWith = (path, start) => start.length <= path.length && start.every((part, n) => part === path[n]);

const shownIn = (form) => [...form.elements].filter((one) => one.matches("input, select, textarea") && !one.closest("[hidden]"));

// → [length of what fits, the controls that have it], of the place's path.
function holders(form, path) {
  let best = [-1, []];
  for (const control of shownIn(form)) {
    for (const one of pathsOf(control, form).filter((start) => beginsWith(path, start))) {
      if (one.length > best[0]) best = [one.length, [control]];
      else if (one.length === best[0] && control.name && control.name === best[1][0].name) best[1].push(control); // boxes of one question
    }
  }
  return best;
}

const further = (part) => (/^\d+$/.test(part) ? `(${Number(part) + 1})` : `${part}:`);

const SAYS_WHERE = /^lines? \d/; // by itself
const LINE = /^line (\d+): (.*)$/su;

// Numbers that follow one another as a range: 2–4, 7.
function ranges(numbers) {
  const found = [];
  for (const n of numbers) {
    if (found.at(-1)?.[1] === n - 1) found.at(-1)[1] = n;
    else found.push([n, n]);
  }
  return found.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

// What is wrong with several lines for one reason is told once, with all its lines.
export function mergeLines(places) {
  const merged = new Map();
  for (const place of places) {
    const [, line, why] = LINE.exec(place.msg) ?? [];
    const key = line ? JSON.stringify([place.loc.filter((part) => typeof part === "string"), why]) : place;
    merged.set(key, [...(merged.get(key) ?? []), { place, line: Number(line), why }]);
  }
  return [...merged.values()].map((all) => (all.length === 1
    ? all[0].place
    : { loc: all[0].place.loc.filter((part) => typeof part === "string"), msg: `lines ${ranges(all.map((one) => one.line))}: ${all[0].why}` }));
}

function wordsOf(rest, { msg: message, own }) {
  const language = own ? null : languageOf(message);
  const where = SAYS_WHERE.test(message) ? [] : rest.map(further);
  return h("span", { lang: language }, [...where, own || language ? message : t(message)].join(" "));
}

export const labelOf = (control) => (control.closest("fieldset.choice, fieldset.boxes")?.querySelector("legend") ?? control.labels?.[0])?.textContent.trim() ?? "";

function describe(control, id) {
  const ids = (control.getAttribute("aria-describedby") ?? "").split(" ").filter((one) => one && one !== id);
  return { with: [...ids, id].join(" "), without: ids.join(" ") };
}

function mark(controls, texts) {
  const said = h("p", { class: "fault", id: fresh("fault") }, texts.flatMap((text, n) => (n ? [h("br"), text] : [text])));
  for (const control of controls) {
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-describedby", describe(control, said.id).with);
  }
  const [first] = controls;
  const group = controls.length > 1 || first.type === "radio" ? first.closest("fieldset") : null;
  if (group) group.append(said);
  else (first.closest("label") ?? first).after(said);
  return { controls, said };
}

function release({ controls, said }) {
  for (const control of controls) {
    control.removeAttribute("aria-invalid");
    const ids = describe(control, said.id).without;
    if (ids) control.setAttribute("aria-describedby", ids);
    else control.removeAttribute("aria-describedby");
  }
  said.remove();
}

// Forget what was refused before.
export function unmark(form) {
  for (const one of marked.get(form) ?? []) release(one);
  marked.delete(form);
  form?.querySelector(":scope > .faults")?.remove();
}

function summary(marks) {
  const line = ({ controls: [control], said }) => {
    control.id ||= fresh("field");
    const go = (event) => {
      event.preventDefault();
      reach(control);
    };
    return h("li", {}, h("a", { href: `#${control.id}`, onclick: go }, labelOf(control) || control.name), ": ", [...said.childNodes].map((node) => node.cloneNode(true)));
  };
  return h("div", { class: "faults", role: "alert" }, h("p", {}, t("Please correct these fields:")), h("ul", {}, marks.map(line)));
}

function reach(control) {
  for (let at = control.closest("details:not([open])"); at; at = at.parentElement?.closest("details:not([open])")) at.open = true;
  control.focus();
}

// A field that is changed says no longer that it is wrong.
function listen(form, one) {
  const changed = () => {
    if (!marked.get(form)?.includes(one)) return;
    release(one);
    marked.set(form, marked.get(form).filter((other) => other !== one));
    if (!marked.get(form).length) unmark(form);
  };
  for (const control of one.controls) for (const kind of ["input", "change"]) control.addEventListener(kind, changed, { once: true });
}

// Mark the fields that places name, and move the focus to the first. places: [{loc, msg}]; `own`: in the page's own
// words. → the places that name none.
export function markFields(form, places) {
  unmark(form);
  const [found, left] = [new Map(), []];
  for (const place of mergeLines(places)) {
    const path = place.loc.slice(CARRIERS.includes(place.loc[0]) ? 1 : 0).map(String);
    const [length, controls] = holders(form, path);
    if (!controls.length) left.push(place);
    else found.set(controls[0], { controls, texts: [...(found.get(controls[0])?.texts ?? []), wordsOf(path.slice(length), place)] });
  }
  if (!found.size) return left;
  const inOrder = shownIn(form).filter((control) => found.has(control)).map((control) => found.get(control));
  const marks = inOrder.map(({ controls, texts }) => mark(controls, texts));
  marked.set(form, marks);
  for (const one of marks) listen(form, one);
  if (marks.length > 1) form.prepend(summary(marks));
  reach(marks[0].controls[0]);
  return left;
}

const GENERAL = "urn:plumbline:problem:invalid"; // says no more than its places

// Mark what an answer refuses. → what is left to be told of it, as an answer; null where the fields say all.
export function refuseFields(form, answer) {
  const places = answer.body?.errors ?? [];
  const left = form ? markFields(form, places) : places;
  if (left.length === places.length) return answer;
  return left.length || answer.body.type !== GENERAL ? { ...answer, body: { ...answer.body, errors: left } } : null;
}
