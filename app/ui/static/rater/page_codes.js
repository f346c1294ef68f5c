// Codes of completion of all tasks that were handed in.

import { insist, why } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { loadMessages, t } from "../shared/messages.js";

await loadMessages();
const answer = await insist("GET", "/v1/me/completions");
const items = answer.body?.items ?? [];
if (!answer.ok) fill($("#content"), h("p", {}, why(answer)));
else if (!items.length) fill(
  $("#content"),
  h("p", {}, t("You have not handed in a task yet. You get a code for each task you hand in.")),
);
else fill(
  $("#content"),
  h(
    "ol",
    { class: "codes" },
    items.map(
      ({ code, redirect }) => h(
        "li",
        {},
        h("code", {}, code),
        " ",
        redirect ? h("a", { href: redirect, rel: "noopener" }, t("Back to the platform")) : null,
      ),
    ),
  ),
);
