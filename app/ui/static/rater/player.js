// A file in the place of a text: a picture, or sound or film with the browser's own controls, and errors as stretches of
// time below them.

import { button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";

const EVERY = 5000; // milliseconds between two notes that playing goes on

export class Player {
  // media: as the task has it. files: a MediaFiles, or null where there is none, as in a preview.
  constructor(media, files, { label, lang }) {
    Object.assign(this, { media, files, label, place: { item: null, segment: null }, noted: 0 });
    this.strip = h("div", { class: "strip", "aria-hidden": "true" });
    this.said = h("p", { class: "hint", role: "status", hidden: true });
    this.element = h("div", { class: `media ${media.kind}` }, this.shown = this.make(lang), this.timed ? this.strip : null, this.said,
      media.transcript ? h("details", {}, h("summary", {}, t("Transcript")), h("p", { dir: "auto", lang: lang || null }, media.transcript)) : null);
    if (!media.id) this.say(t("This file cannot be loaded."));
    else if (files) this.load();
  }

  get timed() {
    return this.media.kind === "audio" || this.media.kind === "video";
  }

  make(lang) {
    const { media } = this;
    if (media.kind === "image") return h("img", { alt: media.transcript ?? t("Picture"), width: media.width, height: media.height });
    if (!this.timed) return null;
    const player = h(media.kind, {
      controls: true,
      preload: "metadata",
      controlslist: "nodownload noremoteplayback",
      "aria-label": this.label,
      width: media.width ? String(media.width) : null,
    });
    this.track = media.captions ? h("track", { kind: "captions", srclang: lang || null, label: t("Captions") }) : null;
    if (this.track) player.append(this.track);
    for (const [name, kind] of Object.entries({ play: "play", pause: "pause", ended: "ended", seeked: "seek" })) {
      player.addEventListener(name, () => this.note(kind));
    }
    // Where it was before somebody seeks is no longer known when they do.
    player.addEventListener("seeking", () => this.was !== undefined && this.note("heard", this.was));
    player.addEventListener("timeupdate", () => {
      if (player.seeking) return;
      this.was = player.paused ? undefined : this.now;
      if (!player.paused && Date.now() - this.noted > EVERY) this.note("heard");
    });
    return player;
  }

  get now() {
    return Math.min(Math.round(this.shown.currentTime * 1000), this.media.duration_ms);
  }

  note(kind, ms = this.now) {
    this.noted = Date.now();
    this.was = kind === "pause" ? undefined : this.was;
    const at = kind === "ended" ? this.media.duration_ms : ms;
    this.files?.note(`media_${kind}`, this.place, this.media.id, at);
  }

  // An address may have run out, or the network may be away; then the file is asked for once more, from where it was.
  async load({ anew = false } = {}) {
    const found = await this.files.find(this.media.id, { anew });
    if (!found) return this.say(t("This file cannot be loaded."), true);
    const at = this.timed ? this.shown.currentTime : 0;
    this.shown.addEventListener("error", () => (anew ? this.say(t("This file cannot be loaded."), true) : this.load({ anew: true })), { once: true });
    this.shown.setAttribute("src", found.address);
    if (this.track) {
      const captions = await this.files.find(this.media.captions);
      if (captions) this.track.setAttribute("src", captions.address);
    }
    if (at) this.shown.currentTime = at;
    return this.tell(found);
  }

  // What the campaign demands of whoever plays it.
  tell({ heard, plays_left: left }) {
    const { hear_all: all, most_plays: most } = this.files.rules;
    this.said.hidden = true;
    if (!this.timed) return;
    if (left === 0) this.say(t("This file was played as often as the campaign allows."));
    else {
      const said = [
        all && !heard ? t("Play this to the end before you hand in.") : null,
        most ? t("It can be played {n} times in total.", { n: most }) : null,
      ].filter(Boolean);
      if (said.length) this.say(said.join(" "));
    }
  }

  say(text, again = false) {
    this.said.hidden = false;
    fill(this.said, text, again ? [" ", button(t("Try again"), () => this.load({ anew: true }), { class: "quiet" })] : null);
  }

  // marks: [{start_ms, end_ms, kinds, index}]
  draw(marks) {
    if (!this.timed) return;
    const share = (ms) => `${(100 * ms) / Math.max(1, this.media.duration_ms)}%`;
    fill(this.strip, marks.map(({ start_ms: start, end_ms: end, kinds }) => {
      const mark = h("span", { class: kinds.join(" ") });
      mark.style.setProperty("--from", share(start));
      mark.style.setProperty("--to", share(end - start));
      return mark;
    }));
  }

  // Hear a stretch again.
  playFrom(ms) {
    this.shown.currentTime = ms / 1000;
    this.shown.play().catch((error) => {
      if (!(error instanceof DOMException)) throw error; // it cannot be played
    });
  }
}

// A time within a file: 1:02.5
export function clock(ms) {
  const seconds = ms / 1000;
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
}
