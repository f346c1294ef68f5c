// Tokens: make one, whose secret is shown once; see and revoke them.

import { $, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { copyButton } from "./copying.js";
import { change, fetched, listed, moment, resting, sure, table } from "./parts.js";
import { Listing, reading } from "./reading.js";

const form = $("#new");
const said = $("#said");
const DAY = 86_400_000; // milliseconds
const ROLES = {
  admin: t("admin"), manager: t("manager"), coordinator: t("coordinator"), viewer: t("viewer"), frontend: t("frontend"), rater: t("rater"),
};

const made = new Listing("/v1/tokens", 10_000);

// What still opens something comes first, the newest of it before the others.
const lively = (one, other) => other.live - one.live || Date.parse(other.created_at) - Date.parse(one.created_at);

function list(label, found) {
  return table(label, [
    [t("Token"), (one) => `plb_${one.prefix}_…`], [t("Role"), (one) => ROLES[one.role] ?? one.role], [t("Campaign"), (one) => one.campaign ?? t("all")], [t("Team"), (one) => one.team],
    [t("Rater"), (one) => one.rater], [t("For"), (one) => one.name || null, "text"], [t("Made"), (one) => moment(one.created_at)], [t("Ends"), (one) => moment(one.expires_at)],
    [t("State"), (one) => (one.live ? revoke(one) : one.revoked_at ? t("revoked") : t("ended"))],
  ], [...found].sort(lively));
}

// Links of raters are many, and have a page of their own; they are drawn once somebody wants to see them.
function links(found, open) {
  if (!found.length) return null;
  const drawn = () => box.open && box.childElementCount === 1 && box.append(list(t("Links of raters"), found));
  const box = h("details", { open, ontoggle: drawn }, h("summary", {}, count(found.length, "{n} link of a rater", "{n} links of raters")));
  return box;
}

const place = $("#tokens");
const show = reading(place, async () => {
  const found = await made.read();
  const [theirs, others] = [found.filter((one) => one.role === "rater"), found.filter((one) => one.role !== "rater")];
  fill(place, others.length ? list(t("Tokens"), others) : h("p", {}, t("There are no tokens that you manage.")),
    links(theirs, $("details", place)?.open), made.rest(show), fetched([listed(made.path)]));
});

function revoke(one) {
  const end = async () => {
    if (await change("DELETE", `/v1/tokens/${one.prefix}`, { said })) await show();
  };
  return button(t("Revoke …"), () => sure(t("Revoke this token?"), t("The token and all its sessions end at once. You cannot undo this."), t("Revoke it"), end),
    { class: "quiet", "aria-label": t("Revoke {token}", { token: one.prefix }) });
}

async function make() {
  const body = { role: form.elements.role.value, name: form.elements.name.value.trim() };
  for (const name of ["campaign", "team"]) if (form.elements[name].value.trim()) body[name] = form.elements[name].value.trim();
  if (form.elements.days.value) body.expires_at = new Date(Date.now() + Number(form.elements.days.value) * DAY).toISOString();
  const answer = await change("POST", "/v1/tokens", { body, said });
  if (!answer) return;
  const { token } = answer.body;
  const link = `${location.origin}/#token=${token}`;
  fill($("#made"), h("p", {}, t("The token, shown this once:")), h("p", { class: "secret" }, token), h("p", { class: "actions" }, copyButton(t("Copy the token"), () => token)),
    h("p", {}, t("As a link that signs in:")), h("p", { class: "secret" }, link), h("p", { class: "actions" }, copyButton(t("Copy the link"), () => link)));
  await show();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), make);
});
await show();
