// A ranking before and after an exclusion: ranks, clusters and scores side by side.

import { t } from "../shared/messages.js";
import { figure, table } from "./parts.js";

const sides = ["before", "after"];
const HEADS = {
  rank: { before: t("Rank before"), after: t("Rank after") },
  cluster: { before: t("Cluster before"), after: t("Cluster after") },
  score: { before: t("Score before"), after: t("Score after") },
};
const DIGITS = { rank: 1, cluster: 0, score: 3 };

const whole = (digits, value) => (Number.isInteger(value) && digits < 3 ? 0 : digits);
const column = (what, side) => [HEADS[what][side], (one) => (one[side] ? figure(one[side][what], whole(DIGITS[what], one[side][what])) : what === "rank" ? t("not ranked") : null), "right"];

export const beforeAndAfter = (systems) =>
  table(t("Ranking before and after"), [[t("System"), (one) => one.system], ...Object.keys(HEADS).flatMap((what) => sides.map((side) => column(what, side)))], systems);
