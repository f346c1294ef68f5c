// A task at work: its screens, what is saved and what is missing, hand in.

import { call, comesBack, insist, Unreachable, why } from "../shared/api.js";
import { Answers } from "./answers.js";
import { Beats } from "./beats.js";
import { conflict, shared } from "./elsewhere.js";
import { $, bringIntoView, button, fill, h } from "../shared/dom.js";
import { helpOn } from "./help.js";
import * as keep from "./keep.js";
import { t } from "../shared/messages.js";
import { missingList } from "./missing.js";
import { clear, notice } from "./notices.js";
import { reportProblem } from "./flags.js";
import { Screen } from "./screen.js";
import { statusLine } from "./status.js";
import { Steps } from "./steps.js";

export class Work {
  constructor({ task, forms, outbox, next }) {
    Object.assign(this, { task, forms, outbox, next });
    const { sourceLanguage: source, targetLanguage: target } = $("main").dataset;
    this.locale = { source, target };
    this.answers = new Answers(task, forms, outbox);
    this.beats = new Beats(task.task);
    this.status = statusLine();
    this.ended = new AbortController();
    this.listen();
  }

  listen() {
    const { signal } = this.ended;
    const on = (target, name, heard) => target.addEventListener(name, (event) => heard(event.detail), { signal });
    on(this.answers, "change", ({ answer, elsewhere }) => this.changed(answer, elsewhere));
    on(this.outbox, "state", () => this.status.saving(this.outbox.state));
    on(this.outbox, "stored", (detail) => this.stored(detail));
    on(this.outbox, "conflict", (detail) => conflict(this, detail));
    on(this.outbox, "refused", (detail) => this.refused(detail));
    on(this.beats, "beat", (answer) => this.lease(answer));
    shared(this, signal);
    helpOn(this, signal);
    addEventListener(
      "beforeunload",
      (event) => !keep.lasting() && this.outbox.waiting.length && event.preventDefault(),
      { signal },
    );
  }

  show() {
    this.progress();
    this.status.saving(this.outbox.state);
    this.status.hours();
    this.explainState(this.task.state);
    if ([...this.answers.all.values()].some((answer) => answer.hidden)) notice(
      "hidden",
      t("What you judged before you got this link is kept and counts. This link does not show it."),
    );
    if (this.answers.final) new Steps(this).show();
    else this.showScreens();
  }

  showScreens() {
    this.place = h("div", { class: "screens" });
    this.left = h("div", { class: "missing", tabindex: "-1" });
    const instructions = this.instructions();
    this.pager = h("nav", { class: "pager", "aria-label": t("Documents") });
    const submit = h("p", { class: "actions" }, button(t("Hand in"), () => this.handIn(), { class: "submit" }));
    const handIn = h("section", { class: "hand-in", "aria-label": t("Hand in") }, submit, this.left);
    fill($("#work"), instructions, this.pager, this.place, handIn);
    const open = this.answers.missing[0]?.screen ?? this.task.screens[0].screen;
    this.turnTo(this.task.screens.findIndex((one) => one.screen === open), { focus: false });
  }

  // What is asked of segments stands above; what is asked of the whole stands with it (`screen.js`).
  instructions() {
    return h(
      "p",
      { class: "instructions" },
      this.forms[0].instructions.map((sentence) => [t(sentence), " "]),
      h("a", { href: `${$("main").dataset.home}/guidelines` }, t("Guidelines")),
    );
  }

  turnTo(n, { focus = true } = {}) {
    this.n = n;
    this.screen = new Screen(this, this.task, this.task.screens[n]);
    fill(this.place, this.screen.element);
    this.drawPager();
    this.screen.begin(focus);
    if (focus) bringIntoView(this.pager.hidden ? this.place : this.pager, "start");
  }

  drawPager() {
    const { screens } = this.task;
    this.pager.hidden = screens.length < 2;
    const done = (screen) => [...this.answers.all.values()].filter(
      (answer) => answer.screen === screen.screen,
    ).every((answer) => this.answers.done(answer));
    fill(
      this.pager,
      h("span", { class: "label", "aria-hidden": "true" }, t("Documents")),
      screens.map(
        (screen, i) => button(
          [
            h("span", { class: "hidden" }, t("Document"), " "),
            String(i + 1),
            done(screen) ? [" ✓", h("span", { class: "hidden" }, t("judged"))] : null,
          ],
          () => this.turnTo(i),
          { class: "quiet", "aria-current": i === this.n ? "page" : null },
        ),
      ),
    );
  }

  screenDone() {
    const following = this.answers.missing.find((answer) => answer.screen !== this.task.screens[this.n].screen);
    if (following) return this.turnTo(this.task.screens.findIndex((one) => one.screen === following.screen));
    $(".submit").focus();
    return bringIntoView($(".submit"), "center");
  }

  // Enter on a score.
  goOn(target) {
    if (this.steps) return this.steps.goOn();
    const row = this.screen.current;
    if (row?.element.contains(target)) return row.done && this.screen.next(row);
    return this.screen.next(this.screen.rows.at(-1));
  }

  event(kind, item, segment) {
    this.beats.note(kind, item, segment);
  }

  report(item, segment) {
    this.event("flag", item, segment);
    reportProblem(this.task.task, item, segment);
  }

  changed(answer, elsewhere) {
    this.screen?.refresh(answer, elsewhere);
    this.steps?.refresh(answer, elsewhere);
    this.progress();
    if (this.left?.childElementCount) this.showMissing();
  }

  progress() {
    const total = this.answers.all.size;
    this.status.progress(total - this.answers.missing.length, total);
    if (this.pager) this.drawPager();
  }

  stored({ task, place, payload, revision, said }) {
    if (task !== this.task.task) return;
    this.answers.stored(place, payload, revision);
    if (said.kept === "surplus") this.explainState("surplus");
  }

  refused({ task, place, answer }) {
    if (answer.status === 401 || answer.status === 403) {
      notice(
        "signed-out",
        t("You are signed out. What you judged is kept in this browser; open your link again to go on."),
        { close: false },
      );
      return;
    }
    this.outbox.take(task, place);
    if (task !== this.task.task) return;
    const refused = this.answers.at(place);
    if (refused) {
      keep.put(this.answers.key(refused), { values: refused.values, confirmed: refused.confirmed });
      refused.state = "refused";
      this.answers.changed(refused);
    }
    notice(
      "refused",
      t("An answer was not accepted: {why}", { why: why(answer) }),
      { actions: [button(t("Load the task anew"), () => location.reload())] },
    );
  }

  lease(answer) {
    if (answer.ok) {
      if (answer.body.kept === "surplus") this.explainState("surplus");
      else clear("lease");
      this.status.hours();
    } else if (answer.status === 409) {
      notice("lease", t("This task is handed in already."), { actions: [button(t("Go on"), () => this.leave())] });
    }
  }

  explainState(state) {
    if (state === "surplus") {
      notice(
        "lease",
        t("Your time on this task ran out and somebody else has it now. What you judged is kept."),
        { actions: [button(t("Get another task"), () => this.leave())] },
      );
    } else if (state === "lapsed") {
      notice("lease", t("Your time on this task ran out, but nobody else has it: just go on."));
    }
  }

  showMissing() {
    fill(this.left, missingList(this, (answer) => this.jump(answer)));
  }

  jump(answer) {
    const n = this.task.screens.findIndex((one) => one.screen === answer.screen);
    if (n !== this.n) this.turnTo(n, { focus: false });
    this.screen.show(answer);
  }

  // Everything goes out, then the task; what is missing is named instead.
  async handIn() {
    if (this.answers.missing.length) {
      this.showMissing();
      this.left.focus();
      return;
    }
    if (!(await this.outbox.flush())) {
      notice("hand-in", t("Some answers are not saved yet: the network is away. Hand in again once they are."));
      return;
    }
    clear("hand-in");
    await this.submit();
  }

  async submit() {
    await this.beats.beat();
    let answer;
    try {
      answer = await call("POST", `/v1/tasks/${this.task.task}/submit`);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      answer = { status: 503, ok: false, body: null };
    }
    if (answer.ok) return this.handedIn(answer.body.completion_code);
    if (comesBack(answer.status)) return notice(
      "hand-in",
      t("The server cannot be reached. Nothing is lost; hand in again in a moment."),
    );
    const actions = [button(t("Load the task anew"), () => location.reload())];
    return notice("hand-in", t("It was not handed in: {why}", { why: why(answer) }), { actions });
  }

  async handedIn(code) {
    this.end();
    const codes = await insist("GET", "/v1/me/completions");
    const back = codes.body?.items?.find((one) => one.task === this.task.task)?.redirect;
    fill($("#status"));
    const shown = h("section", { class: "completed", tabindex: "-1" }, h("h2", {}, t("Handed in. Thank you.")),
      h("p", {}, t("Your completion code:")), h("p", { class: "code" }, h("code", {}, code)),
      h(
        "p",
        { class: "actions" },
        back ? h("a", { class: "button", href: back, rel: "noopener" }, t("Back to the platform")) : null,
        button(t("Next task"), () => this.next()),
      ));
    fill($("#work"), shown);
    shown.focus();
  }

  leave() {
    this.end();
    return this.next();
  }

  end() {
    this.answers.forget();
    keep.drop("task");
    this.ended.abort();
    this.beats.stop();
  }
}
