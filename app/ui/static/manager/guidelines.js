// Guidelines and the text of consent: a field for each language, saved together as a new version; the older versions.

import { $, button, dialog, fill, fresh, h } from "../shared/dom.js";
import { locale, t } from "../shared/messages.js";
import { api, change, get, moment, refuseField, resting, say } from "./parts.js";
import { reading, tried } from "./reading.js";

const CODE = /^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/;
const LONGEST = "200000";

// A language by its name, with its code where that is something else.
const names = new Intl.DisplayNames([locale()], { type: "language", fallback: "none" });
const named = (code) => {
  const name = names.of(code.replaceAll("_", "-"));
  return name ? `${name} (${code})` : code;
};

class Texts {
  constructor(section) {
    this.kind = section.dataset.kind;
    this.form = $("form", section);
    this.version = Number(this.form.dataset.version);
    this.fields = h("div");
    this.said = h("p", { class: "said", role: "alert" });
    this.code = h("input", { id: fresh("code"), name: "code", maxlength: "35", autocomplete: "off", spellcheck: "false", placeholder: "de" });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      resting($("button[type=submit]", this.form), () => this.save());
    });
  }

  async show() {
    const { texts } = this.version ? await get(`${api}/${this.kind}`) : { texts: { en: "" } };
    this.fields.replaceChildren();
    fill(this.form, this.fields,
      h("div", { class: "picker further" }, h("label", { for: this.code.id }, t("Another language")), this.code, button(t("Add"), () => this.another(), { class: "quiet" })),
      this.said, h("p", { class: "actions" }, h("button", { type: "submit" }, t("Save as version {n}", { n: this.version + 1 })), this.version > 1 ? button(t("Earlier versions"), () => this.earlier(), { class: "quiet" }) : null));
    for (const language of Object.keys(texts).sort()) this.field(language, texts[language]);
  }

  field(language, text) {
    const id = fresh("text");
    this.fields.append(h("div", { class: "field" }, h("label", { for: id }, t("Text in {language}", { language: named(language) })),
      h("textarea", { id, rows: "8", maxlength: LONGEST, dir: "auto", lang: language, data: { language, place: language } }, text)));
  }

  another() {
    const language = this.code.value.trim();
    const there = [...this.fields.querySelectorAll("textarea")].some((one) => one.dataset.language === language);
    if (!CODE.test(language) || there) return refuseField(this.form, "code", there ? t("A text in {language} already exists.", { language }) : t("Enter the language as a code such as de or zh-Hans."));
    say(this.said, "");
    this.code.value = "";
    this.field(language, "");
    return this.fields.lastElementChild.querySelector("textarea").focus();
  }

  async save() {
    const written = [...this.fields.querySelectorAll("textarea")].filter((one) => one.value.trim());
    if (!written.length) return say(this.said, t("Write a text in at least one language."));
    const body = Object.fromEntries(written.map((one) => [one.dataset.language, one.value]));
    if (await change("PUT", `${api}/${this.kind}`, { body, said: this.said })) location.reload();
    return undefined;
  }

  earlier() {
    const place = h("div", { role: "status" });
    const pick = h("select", { id: fresh("version") }, Array.from({ length: this.version - 1 }, (_, n) => h("option", {}, String(this.version - 1 - n))));
    const look = () => tried(async () => {
      const { texts, at } = await get(`${api}/${this.kind}?${new URLSearchParams({ version: pick.value })}`);
      fill(place, h("p", { class: "quiet" }, moment(at)), Object.entries(texts).map(([language, text]) => [h("h3", {}, language), h("pre", { lang: language, dir: "auto", tabindex: "0" }, text)]));
    }, place);
    pick.addEventListener("change", look);
    dialog(t("Earlier versions"), h("div", {}, h("label", { for: pick.id }, t("Version")), pick, place), { closeLabel: t("Back"), wide: true });
    look();
  }
}

for (const section of document.querySelectorAll(".texts")) {
  const texts = new Texts(section);
  await reading(texts.form, () => texts.show())();
}
