// One request for each of several rows, where the server takes no more at once: a row that fails does not stop the others.

import { fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { told } from "./parts.js";

// send(row, refused) → the answer or null, as `change` has it, which says in `said` what went wrong. isSo: whether a
// refusal means that the row is as it should be. → {done, before, left}: rows that were done, that were so before, and
// that are left; of these, `said` tells what stopped the first.
export async function each(rows, said, send, isSo = () => false) {
  const [done, before, left] = [[], [], []];
  let first = null;
  for (const [n, row] of rows.entries()) {
    let refusal = null;
    if (await send(row, (answer) => { refusal = answer; })) done.push(row);
    else if (refusal && isSo(refusal)) before.push(row);
    else {
      first ??= refusal ? h("span", {}, told(refusal)) : h("span", {}, [...said.childNodes]);
      left.push(row);
      if (refusal) continue;
      left.push(...rows.slice(n + 1)); // nobody answers
      break;
    }
  }
  fill(said, first && rows.length > 1 ? t("{n} of {all} are done. The first failure:", { n: rows.length - left.length, all: rows.length }) : null, first && " ", first);
  return { done, before, left };
}
