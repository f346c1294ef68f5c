// The public archive of a closed campaign: its link is made, shown and taken back.

import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { copyButton } from "./copying.js";
import { api, change, get, here, moment, resting, sure } from "./parts.js";
import { reading } from "./reading.js";

const section = $("#archive");
const said = h("p", { class: "said", role: "alert" });
const place = h("div");
section.append(place, said);

const read = reading(section, async () => show(await get(`${api}/archive`, { absent: null })));

function show(link) {
  if (link) {
    fill(place,
      h("p", { class: "prose" }, h("a", { href: link.link }, link.link), " ", h("span", { class: "quiet" }, t("since {when}", { when: moment(link.created_at) }))),
      h("p", { class: "actions" }, copyButton(t("Copy the link"), () => link.link), button(t("Disable the link"), () =>
        sure(t("Disable the link?"), t("The address stops working for good. You can create another one."), t("Disable the link"), close), { class: "quiet" })));
  } else if (section.dataset.state === "closed") {
    fill(place, h("p", { class: "actions" }, button(t("Create a public link"), (event) => resting(event.currentTarget, open))));
  } else fill(place, h("p", {}, t("This is possible once the campaign is closed."), " ", h("a", { href: `${here}/overview` }, t("Overview"))));
}

async function open() {
  const answer = await change("PUT", `${api}/archive`, { said });
  if (answer) show(answer.body);
}

async function close() {
  if (await change("DELETE", `${api}/archive`, { said })) show(null);
}

await read();
