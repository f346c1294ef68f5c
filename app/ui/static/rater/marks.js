// A text with its marked errors, cut where one begins or ends. Every piece knows which code points it shows.

import { h } from "../shared/dom.js";
import { codePoints, signName } from "./text.js";

const shownAt = new WeakMap(); // text node → {start (UTF-16), length, fixed}

// marks: [{start, end, kinds: [class, …], index}] in code points. from, to: only a part of the text.
export function pieces(text, marks = [], units = codePoints(text), from = 0, to = units.length - 1) {
  const cuts = new Set([from, to]);
  for (const mark of marks) cuts.add(mark.start).add(mark.end);
  const at = [...cuts].filter((cut) => cut >= from && cut <= to).sort((a, b) => a - b);
  const nodes = [];
  for (let i = 0; i + 1 < at.length; i += 1) {
    const over = marks.filter((mark) => mark.start <= at[i] && mark.end >= at[i + 1] && mark.start < mark.end);
    nodes.push(...piece(text, units[at[i]], units[at[i + 1]], over));
  }
  return nodes;
}

function piece(text, start, end, over) {
  const nodes = plainOrSigns(text, start, end);
  if (!over.length) return nodes;
  const kinds = new Set(over.flatMap((mark) => mark.kinds));
  const marked = h("mark", { class: [...kinds].join(" "), title: over.find((mark) => mark.title)?.title }, nodes);
  const errors = over.filter((mark) => mark.index !== undefined).length;
  if (errors > 1) marked.classList.add("several");
  return [marked];
}

function plainOrSigns(text, start, end) {
  const nodes = [];
  let from = start;
  const upTo = (to) => {
    if (to > from) nodes.push(known(document.createTextNode(text.slice(from, to)), from, to - from, false));
  };
  for (let i = start; i < end; ) {
    const code = text.codePointAt(i);
    const length = code > 0xffff ? 2 : 1;
    const name = signName(code);
    if (name) {
      upTo(i);
      const label = known(document.createTextNode(name), i, length, true);
      nodes.push(h("span", { class: "sign", dir: "ltr", title: name }, label));
      from = i + length;
    }
    i += length;
  }
  upTo(end);
  return nodes;
}

function known(node, start, length, fixed) {
  shownAt.set(node, { start, length, fixed });
  return node;
}

// The UTF-16 position in the text that a position in the page shows; null where it shows none.
export function positionOf(root, node, offset) {
  if (node.nodeType === Node.ELEMENT_NODE) {
    const inside = textNodes(root);
    if (node === root || root.contains(node)) {
      const child = node.childNodes[offset];
      const next = inside.find((one) => child && (one === child || child.contains(one) || follows(child, one)));
      if (next) return shownAt.get(next).start;
    }
    const last = inside.at(-1);
    return last ? shownAt.get(last).start + shownAt.get(last).length : 0;
  }
  const place = root.contains(node) ? shownAt.get(node) : null;
  if (!place) return null;
  return place.fixed ? place.start + (offset > 0 ? place.length : 0) : place.start + Math.min(offset, place.length);
}

const follows = (one, other) => Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);

export function textNodes(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) if (shownAt.has(walker.currentNode)) found.push(walker.currentNode);
  return found;
}

// The UTF-16 position of the sign under a point of the screen; null where there is none.
export function positionUnder(root, x, y) {
  const caret = caretAt(x, y);
  if (!caret || !root.contains(caret.node)) return null;
  const place = shownAt.get(caret.node);
  if (!place) return positionOf(root, caret.node, caret.offset);
  if (place.fixed) return place.start;
  for (const offset of [caret.offset - 1, caret.offset]) {
    if (offset >= 0 && offset < caret.node.length && covers(caret.node, offset, x, y)) return place.start + offset;
  }
  return place.start + Math.min(caret.offset, caret.node.length - 1);
}

function covers(node, offset, x, y) {
  const range = document.createRange();
  range.setStart(node, offset);
  range.setEnd(node, offset + 1);
  return [...range.getClientRects()].some((box) => x >= box.left && x < box.right && y >= box.top && y < box.bottom);
}

function caretAt(x, y) {
  if (document.caretPositionFromPoint) {
    const found = document.caretPositionFromPoint(x, y);
    return found && { node: found.offsetNode, offset: found.offset };
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range && { node: range.startContainer, offset: range.startOffset };
}
