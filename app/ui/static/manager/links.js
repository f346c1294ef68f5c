// A link of a rater, whose secret is shown once: as text, as a picture for a phone, and in words for a message.

import { fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { copyButton } from "./copying.js";
import { api, change, icon, moment } from "./parts.js";

// The picture comes from the server as SVG; as a tree of elements it needs no exception from the policy of the page.
function qr(svg, label) {
  const picture = document.adoptNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", label);
  return h("div", { class: "qr" }, picture);
}

const letter = (name, link, ends) => [
  name ? t("Hello {name},", { name }) : t("Hello,"), "",
  t("with this link you can start judging translations. It is only for you: please do not forward it."), "",
  link, "",
  t("It works until {date}. Your answers are saved as you make them, and you can continue with the same link at any time.", { date: ends }),
].join("\n");

// Give a rater a new link, and show it in a place.
export async function giveLink(rater, place, said) {
  const answer = await change("POST", `${api}/raters/${encodeURIComponent(rater.key)}/link`, { said });
  if (!answer) return;
  const { link, qr: picture, expires_at: ends } = answer.body;
  const text = h("textarea", { rows: "8", "aria-label": t("Message to {rater}", { rater: rater.key }) });
  text.value = letter(rater.contact?.name, link, moment(ends));
  const mail = () => `mailto:${encodeURIComponent(rater.contact?.email ?? "")}?${new URLSearchParams({ subject: t("Your link for judging translations"), body: text.value }).toString().replaceAll("+", "%20")}`;
  const send = h("a", { class: "button plain", href: mail() }, icon("mail"), t("Open in your mail program"));
  text.addEventListener("input", () => send.setAttribute("href", mail()));
  fill(place, h("section", { class: "card new-link", "aria-label": t("New link for {rater}", { rater: rater.key }) },
    h("div", {},
      h("p", {}, t("The link of {rater}, shown only once:", { rater: rater.key })),
      h("p", { class: "secret" }, link),
      h("p", { class: "actions" }, copyButton(t("Copy the link"), () => link)),
      h("details", {}, h("summary", {}, t("Text for a message")), h("div", { class: "field" }, text),
        h("p", { class: "actions" }, copyButton(t("Copy the text"), () => text.value), send))),
    qr(picture, t("The link as a QR code"))));
  place.scrollIntoView({ block: "nearest" });
}
