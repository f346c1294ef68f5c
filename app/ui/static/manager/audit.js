// Who changed what, the newest first.

import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { fetched, foreign, get, listed, main, moment, resting, table } from "./parts.js";
import { reading, tried } from "./reading.js";

const place = $("#log");
const found = [];

async function more(cursor) {
  const query = new URLSearchParams({ limit: "100" });
  if (main.dataset.campaign) query.set("campaign", main.dataset.campaign);
  if (cursor) query.set("cursor", cursor);
  const { items, next } = await get(`/v1/audit?${query}`);
  found.push(...items);
  const older = button(t("Older"), () => resting(older, () => tried(() => more(next), $("#said"))), { class: "quiet" });
  fill(place, table(t("Who changed what"), [
    [t("When"), (one) => moment(one.at)], [t("Campaign"), (one) => one.campaign], [t("Who"), (one) => one.actor], [t("What"), (one) => foreign(one.action)],
    [t("More"), (one) => Object.entries(one.what).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join("; "), "text"],
  ], found), next ? h("p", { class: "actions" }, older) : null,
  h("p", { class: "words" }, t("Each row seals the previous ones; plumbline audit --check names any row that was changed.")),
  fetched([listed(main.dataset.campaign ? `/v1/audit?${new URLSearchParams({ campaign: main.dataset.campaign })}` : "/v1/audit")]));
}

await reading(place, () => more(null))();
