// Who changed what, the newest first.

import { $, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Browse } from "./browse.js";
import { actorName, brief, foreign, main, moment } from "./parts.js";

const { campaign } = main.dataset;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/;

function words(value) {
  if (Array.isArray(value)) return value.map(words).join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  return TIME.test(value) ? moment(value) : String(value);
}

// A digest is told apart by its beginning; what nothing was counted of is left out.
const DIGEST = /^[0-9a-f]{40,}$/;
const details = (one) => Object.entries(one.what).filter(([, value]) => value !== null && value !== 0).map(([name, value]) =>
  h("span", { class: "detail" }, h("b", {}, name.replaceAll("_", " ")), " ", DIGEST.test(value) ? h("code", { title: value }, `${value.slice(0, 12)}…`) : words(value)));

await new Browse($("#log"), {
  label: t("Who changed what"),
  path: campaign ? `/v1/audit?${new URLSearchParams({ campaign })}` : "/v1/audit",
  key: (one) => `${one.campaign} ${one.n}`,
  search: t("Search by person, action or key"),
  columns: [
    { head: t("When"), cell: (one) => brief(one.at) },
    campaign ? null : { head: t("Campaign"), cell: (one) => one.campaign, look: "wide" },
    { head: t("Who"), cell: (one) => actorName(one.actor), look: "wide" },
    { head: t("What"), cell: (one) => h("b", {}, foreign(one.action)) },
    { head: t("More"), cell: (one) => details(one), look: "text" },
  ].filter(Boolean),
  nothing: { icon: "clock", title: t("Nothing has been changed yet."), text: t("Every change is listed here, with the name of whoever made it.") },
}).open();
