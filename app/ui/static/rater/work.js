// A task at work: its screens, what is saved and what is missing, hand in.

import { call, comesBack, insist, Unreachable, why } from "../shared/api.js";
import { Answers } from "./answers.js";
import { Beats } from "./beats.js";
import { Comments, isComment } from "./comments.js";
import { conflict, shared } from "./elsewhere.js";
import { $, bringIntoView, button, fill, h } from "../shared/dom.js";
import { guide } from "./guide.js";
import { helpOn } from "./help.js";
import * as keep from "./keep.js";
import { count, inOwnLanguage, t } from "../shared/messages.js";
import { MediaFiles } from "./media_files.js";
import { missingList } from "./missing.js";
import { clear, notice } from "./notices.js";
import { reportProblem } from "./flags.js";
import { outcome, unsaved } from "./saving.js";
import { Screen } from "./screen.js";
import { Steps } from "./steps.js";
import { advice } from "./unsaved.js";
import { noteWhereabouts, returnTo, whereabouts } from "./whereabouts.js";

export class Work {
  constructor({ task, forms, outbox, status, next, beats = new Beats(task.task) }) {
    Object.assign(this, { task, forms, outbox, status, next });
    const { sourceLanguage: source, targetLanguage: target } = $("main").dataset;
    this.locale = { source, target };
    this.answers = new Answers(task, forms, outbox);
    this.comments = new Comments(task, outbox);
    this.beats = beats;
    this.files = new MediaFiles(task, (kind, { item, segment }, media, ms) => this.beats.note(kind, item, segment, { media, media_ms: ms }));
    this.ended = new AbortController();
    this.listen();
  }

  listen() {
    const { signal } = this.ended;
    const on = (target, name, heard) => target.addEventListener(name, (event) => heard(event.detail), { signal });
    on(this.answers, "change", ({ answer, elsewhere }) => this.changed(answer, elsewhere));
    on(this.outbox, "stored", (detail) => this.stored(detail));
    on(this.outbox, "conflict", (detail) => conflict(this, detail));
    on(this.outbox, "refused", (detail) => this.refused(detail));
    on(this.beats, "beat", (answer) => this.lease(answer));
    shared(this, signal);
    helpOn(this, signal);
    const leaving = () => noteWhereabouts(this);
    addEventListener("pagehide", leaving, { signal });
    document.addEventListener("visibilitychange", leaving, { signal });
    addEventListener(
      "beforeunload",
      (event) => !keep.lasting() && unsaved(this.outbox.facts) && event.preventDefault(),
      { signal },
    );
  }

  show() {
    this.progress();
    this.status.hours();
    this.explainState(this.task.state);
    const answers = [...this.answers.all.values()];
    if (answers.some((answer) => answer.hidden)) notice(
      "hidden",
      t("Your judgments from before this link are stored and count, but this link does not show them."),
    );
    const again = answers.filter((answer) => answer.again && !this.answers.done(answer)).length;
    if (again) notice("again", count(
      again,
      "One of your answers was voided and does not count. Please judge that text again.",
      "{n} of your answers were voided and do not count. Please judge those texts again.",
    ));
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
    const back = whereabouts(this.task);
    const open = back?.screen ?? this.answers.missing[0]?.screen ?? this.task.screens[0].screen;
    this.turnTo(this.task.screens.findIndex((one) => one.screen === open), { back, arrives: true });
  }

  // What is asked of segments stands above; what is asked of the whole stands with it (`screen.js`).
  instructions() {
    return guide(this.forms[0]);
  }

  // arrives: the page was just loaded. back: where the rater was before.
  turnTo(n, { focus = true, arrives = false, back = null } = {}) {
    this.n = n;
    this.screen = new Screen(this, this.task, this.task.screens[n]);
    fill(this.place, this.screen.element);
    this.drawPager();
    if (arrives) return this.arrive(back);
    this.screen.begin({ focus });
    if (focus) bringIntoView(this.pager.hidden ? this.place : this.pager, "start");
    return undefined;
  }

  // With a mouse and keys the first question has the focus; on a phone that would open the keyboard.
  arrive(back) {
    const { screen } = this;
    screen.begin({ focus: false, segment: back?.segment, open: back?.open });
    if (back) returnTo(screen, back);
    else if (screen.current && screen.current !== screen.rows[0]) bringIntoView(screen.current.element, "start");
    if (matchMedia("(pointer: fine)").matches) screen.current?.asked()?.focus();
  }

  drawPager() {
    const { screens } = this.task;
    this.pager.hidden = screens.length < 2;
    if (this.pager.hidden) return;
    if (!this.turners) {
      this.turners = screens.map((_, i) => button("", () => this.turnTo(i), { class: "quiet" }));
      fill(this.pager, h("span", { class: "label", "aria-hidden": "true" }, t("Documents")), this.turners);
    }
    const done = (screen) => [...this.answers.all.values()].filter(
      (answer) => answer.screen === screen.screen,
    ).every((answer) => this.answers.done(answer));
    screens.forEach((screen, i) => {
      fill(
        this.turners[i],
        h("span", { class: "hidden" }, t("Document"), " "),
        String(i + 1),
        done(screen) ? [" ✓", h("span", { class: "hidden" }, t("judged"))] : null,
      );
      this.turners[i].toggleAttribute("aria-current", false);
      if (i === this.n) this.turners[i].setAttribute("aria-current", "page");
    });
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
    if (row?.element.contains(target)) return this.onFrom(row);
    return this.screen.next(this.screen.rows.at(-1));
  }

  onFrom(row) {
    if (this.steps) return row.answers.every((answer) => answer.whole) ? this.steps.goOn() : row.focus();
    return row.done ? this.screen.next(row) : row.focus();
  }

  get row() {
    return this.steps ? this.steps.row : this.screen?.current;
  }

  toScore() {
    this.row?.asked()?.toScore();
  }

  // Nothing, or nothing more, is wrong: on to the next segment, or to the score where one is asked.
  nothingMore() {
    const asked = this.row?.asked();
    if (asked?.nothingMore()) this.onFrom(this.row);
    else asked?.toScore();
  }

  event(kind, item, segment) {
    if (kind === "open") noteWhereabouts(this);
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
    this.status.progress(total - this.answers.missing.length, total, this.answers.begun);
    if (this.pager) this.drawPager();
  }

  stored({ task, place, payload, revision, said }) {
    if (task !== this.task.task) return;
    this.answers.stored(place, payload, revision);
    if (said.kept === "surplus") this.explainState("surplus");
  }

  // It stays in the browser, and is no answer until the rater gives another.
  refused({ task, place, answer }) {
    if (task === this.task.task && isComment(place)) return this.commentRefused(place, answer);
    const refused = task === this.task.task ? this.answers.at(place) : null;
    if (!refused) return undefined;
    refused.state = "refused";
    this.answers.changed(refused);
    notice(
      "refused",
      t("An answer was not accepted: {why}", { why: why(answer) }),
      { actions: [button(t("Reload the task"), () => location.reload())] },
    );
    return undefined;
  }

  // It stays on the page; nothing waits for it, lest the task could not be handed in.
  commentRefused(place, answer) {
    this.outbox.take(this.task.task, place);
    notice("comment", t("A comment was not accepted: {why}", { why: why(answer) }));
  }

  lease(answer) {
    if (answer.ok) {
      if (answer.body.kept === "surplus") this.explainState("surplus");
      else clear("lease");
      this.status.hours();
    } else if (outcome(answer) === "signed-out") {
      this.outbox.signOut();
    } else if (answer.status === 409) {
      notice("lease", t("This task has already been handed in."), { actions: [button(t("Continue"), () => this.leave())] });
    }
  }

  explainState(state) {
    if (state === "surplus") {
      notice(
        "lease",
        t("Your time on this task ran out, and somebody else has it now. Your judgments are kept."),
        { actions: [button(t("Get another task"), () => this.leave())] },
      );
    } else if (state === "lapsed") {
      notice("lease", t("Your time on this task ran out, but nobody else has taken it, so you can continue."));
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

  // Everything goes out, then the task; what is missing, or not saved, is named instead, where the button is.
  async handIn() {
    if (this.answers.missing.length) {
      this.showMissing();
      this.left.focus();
      return;
    }
    if (!(await this.outbox.flush(this.task.task))) return this.notHandedIn(advice(this.outbox));
    await this.submit();
  }

  notHandedIn(why, actions = []) {
    const said = h("p", {}, h("b", {}, t("Not handed in.")), " ", why);
    fill(this.left, h("div", { class: "note" }, said, actions.length ? h("p", { class: "actions" }, actions) : null));
    this.left.focus();
    bringIntoView(this.left);
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
    if (answer.ok) return this.handedIn(answer.body);
    if (outcome(answer) === "signed-out") {
      this.outbox.signOut();
      return this.notHandedIn(advice(this.outbox));
    }
    if (comesBack(answer.status)) return this.notHandedIn(
      t("The server cannot be reached. Nothing is lost; hand in again in a moment."),
    );
    return this.notHandedIn(why(answer), [button(t("Reload the task"), () => location.reload())]);
  }

  async handedIn({ completion_code: code, warning }) {
    this.end();
    const codes = await insist("GET", "/v1/me/completions");
    const back = codes.body?.items?.find((one) => one.task === this.task.task)?.redirect;
    this.status.idle();
    const shown = h("section", { class: "completed", tabindex: "-1" }, h("h2", {}, t("Handed in. Thank you.")), warning ? warned(warning) : null,
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
    keep.drop("at");
    this.ended.abort();
    this.beats.stop();
  }
}

// Of an attention check that was not passed, in the words of whoever wrote it.
function warned({ texts, again }) {
  const said = texts.map((one) => h("p", { dir: "auto" }, inOwnLanguage(one)));
  return h("div", { class: "note" }, h("p", {}, t("Some of your answers cannot be right.")), said,
    again ? h("p", {}, t("The same text comes once more. Read it carefully.")) : null);
}
