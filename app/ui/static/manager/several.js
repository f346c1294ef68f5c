// The same change of several rows: sent in parts that the server takes, and undone for a while. Undoing changes only what
// still has what was set; what somebody else changed meanwhile stays.

import { change, say } from "./parts.js";
import { toast } from "./toast.js";

// path, name: of the request, and of the rows in it. key: of a row, in the rows and in what the answer says was before.
// type: of the refusal because some have something else. said: where the page says what went wrong. kept: a number in
// words, of rows that somebody else changed. most: rows that the server changes at once. heard: what answers say.
export class Several {
  constructor({ path, name, key, type, said, kept, most = 1000, heard = () => {} }) {
    Object.assign(this, { path, name, key, type, said, kept, most, heard });
  }

  async patch(rows, values, { place = this.said, ...more } = {}) {
    const answer = await change("PATCH", this.path, { body: { [this.name]: rows.map(this.key), ...values }, said: place, ...more });
    if (answer) this.heard(answer.body);
    return answer;
  }

  // list: a Browse. words: of a number. place: where it is said what went wrong. Where a part fails, those before it are
  // done, can be undone, and are not sent again. → whether all are done.
  async set(list, rows, values, words, place) {
    const before = [];
    while (rows.length) {
      const part = rows.slice(0, this.most);
      const answer = await this.patch(part, values, { place });
      if (!answer) break;
      before.push(...answer.body.before);
      rows.splice(0, part.length);
    }
    if (!before.length) return false;
    toast(words(before.length), () => this.restore(list, before, values));
    await list.done(rows);
    return !rows.length;
  }

  // What rows had before is what undoing gives them back, by groups that had the same. What is done leaves `before`, so
  // that whoever asks again after a failure asks for the rest.
  async restore(list, before, set) {
    const [names, changed] = [Object.keys(set), []];
    for (const group of Map.groupBy(before, (one) => JSON.stringify(names.map((name) => one[name]))).values()) {
      const values = Object.fromEntries(names.map((name) => [name, group[0][name]]));
      for (let n = 0; n < group.length; n += this.most) {
        const part = group.slice(n, n + this.most);
        const these = await this.giveBack(part, values, set);
        if (!these) return false;
        changed.push(...these);
        for (const one of part) before.splice(before.indexOf(one), 1);
      }
    }
    say(this.said, changed.length ? this.kept(changed.length) : "");
    await list.show();
    return true;
  }

  // Give rows back what they had, where they still have what was set. → those that somebody changed meanwhile, which
  // stay as they are; null where it failed.
  async giveBack(rows, values, expected) {
    let refusal = null;
    if (await this.patch(rows, { ...values, expected }, { refused: (answer) => { refusal = answer; } })) return [];
    if (refusal?.body?.type !== this.type) return null;
    const changed = refusal.body.errors.map((one) => rows[one.loc[2]]);
    const rest = rows.filter((one) => !changed.includes(one));
    if (!rest.length) return changed;
    const further = await this.giveBack(rest, values, expected);
    return further && [...changed, ...further];
  }
}
