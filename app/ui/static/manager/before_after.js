// A ranking before and after an exclusion: ranks, clusters and scores side by side.

import { t } from "../shared/messages.js";
import { decimal, figure, table } from "./parts.js";

const sides = ["before", "after"];
const HEADS = {
  rank: { before: t("Rank before"), after: t("Rank after") },
  cluster: { before: t("Cluster before"), after: t("Cluster after") },
  score: { before: t("Score before"), after: t("Score after") },
};
const DIGITS = { rank: 1, cluster: 0, score: 3 };

const written = (what, value) => (what === "score" ? decimal(value, DIGITS.score) : figure(value, Number.isInteger(value) ? 0 : DIGITS[what]));
const column = (what, side) => [HEADS[what][side], (one) => (one[side] ? written(what, one[side][what]) : what === "rank" ? t("not ranked") : null), "right"];

export const beforeAndAfter = (systems) =>
  table(t("Ranking before and after"), [[t("System"), (one) => one.system], ...Object.keys(HEADS).flatMap((what) => sides.map((side) => column(what, side)))], systems);
