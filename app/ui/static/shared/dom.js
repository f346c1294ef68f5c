// Elements without markup: text is always text, so nothing that a manager or a system wrote can run.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(element, name, value);
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "class") element.className = value;
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name in element && typeof value !== "string") element[name] = value;
  else element.setAttribute(name, value === true ? "" : value);
}

export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export const $ = (selector, within = document) => within.querySelector(selector);

let made = 0;
export const fresh = (prefix) => `${prefix}-${(made += 1)}`;

// What a screen reader is told without the focus moving.
export function announce(text) {
  let region = $("#announcer");
  if (!region) {
    region = h("div", { id: "announcer", class: "hidden", role: "status", "aria-live": "polite" });
    document.body.append(region);
  }
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

// At once: where heights change on the way, a scroll that runs ends where the element was, and another that is asked for
// meanwhile may be dropped.
export function bringIntoView(element, block = "nearest") {
  element.scrollIntoView({ block, behavior: "instant" });
}

export function button(label, onclick, props = {}) {
  return h("button", { type: "button", ...props, onclick }, label);
}

// A dialog that the browser itself makes modal; it gives the focus back when it closes.
export function dialog(title, content, { closeLabel, wide = false } = {}) {
  const id = fresh("dialog");
  const close = button(closeLabel, () => box.close(), { class: "quiet" });
  const box = h(
    "dialog",
    { "aria-labelledby": id, class: wide ? "wide" : null },
    h("h2", { id }, title),
    content,
  );
  // The way back stands beside what the dialog is for, if it says where that is.
  const answers = box.querySelector("[data-answers]");
  if (answers) answers.append(close);
  else box.append(h("p", { class: "actions" }, close));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}
