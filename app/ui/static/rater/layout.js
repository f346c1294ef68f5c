// Light markup of a text: elements for what the server laid out, and the way between the characters that are shown and
// those of the stored text. The server sends no markup, only names of tags with places; others than these draw nothing.

import { h } from "../shared/dom.js";
import { pieces } from "./marks.js";

const INLINE = new Set(["b", "strong", "i", "em", "code"]);
const BLOCKS = new Set(["p", "h1", "h2", "h3", "ul", "ol", "li", "pre"]);
const LISTS = new Set(["ul", "ol"]);

export class Layout {
  // markup: {shown, runs, elements}, as a task has it.
  constructor({ shown, runs, elements }, units) {
    Object.assign(this, { shown, units });
    this.places = runs.flatMap(([n, start, end]) => (end - start === n ? Array.from({ length: n }, (_, i) => [start + i, start + i + 1]) : [[start, end]]));
    this.root = { tag: null, start: 0, end: units.length - 1, children: [] };
    this.between = new Set(); // line ends that stand for the tags between blocks, which begin a line by themselves
    const open = [this.root];
    for (const [tag, start, end] of elements.filter(([name]) => INLINE.has(name) || BLOCKS.has(name))) {
      while (open.length > 1 && open.at(-1).end <= start) open.pop();
      const element = { tag, start, end, children: [] };
      open.at(-1).children.push(element);
      open.push(element);
      if (BLOCKS.has(tag)) [start - 1, end].filter((at) => shown[units[at]] === "\n").forEach((at) => this.between.add(at));
    }
  }

  // A stretch that is marked on the screen, in the stored text.
  toStored(start, end) {
    return [this.places[start][0], this.places[end - 1][1]];
  }

  // What is shown of a stretch of the stored text; null where it is only tags.
  toShown(start, end) {
    const first = this.places.findIndex((place) => place[1] > start);
    const last = this.places.findLastIndex((place) => place[0] < end);
    return first < 0 || last < first ? null : [first, last + 1];
  }

  // marks: as of `pieces`, in what is shown.
  draw(marks) {
    return this.inside(this.root, marks);
  }

  inside({ start, end, children }, marks) {
    const nodes = [];
    let at = start;
    for (const child of children) {
      nodes.push(...this.text(at, child.start, marks), this.element(child, marks));
      at = child.end;
    }
    return [...nodes, ...this.text(at, end, marks)];
  }

  text(from, to, marks) {
    const nodes = [];
    let at = from;
    for (let i = from; i <= to; i += 1) {
      if (i < to && !this.between.has(i)) continue;
      if (i > at) nodes.push(...pieces(this.shown, marks, this.units, at, i));
      if (i < to) nodes.push(h("span", { class: "between" }, pieces(this.shown, [], this.units, i, i + 1)));
      at = i + 1;
    }
    return nodes;
  }

  element(node, marks) {
    if (INLINE.has(node.tag)) return h(node.tag, {}, this.inside(node, marks));
    if (LISTS.has(node.tag) && this.isList(node)) return this.list(node, marks);
    return h("div", { class: `laid-${node.tag}` }, this.inside(node, marks));
  }

  // A list with nothing but its items; the line ends between them go to the item before.
  list(node, marks) {
    const items = node.children.map((item, i) => {
      const next = node.children[i + 1]?.start ?? node.end;
      return h("li", {}, this.inside(item, marks), this.text(item.end, next, marks));
    });
    return h(node.tag, {}, items);
  }

  isList({ start, end, children }) {
    const covered = children.reduce((at, item) => {
      const close = at === item.start || (at === item.start - 1 && this.between.has(at));
      return item.tag === "li" && close ? item.end : -1;
    }, start);
    return children.length > 0 && covered === end;
  }
}
