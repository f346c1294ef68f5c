// Changing state or team of several raters, and what is said of it.

import { count } from "../shared/messages.js";
import { api } from "./parts.js";
import { Several } from "./several.js";

export const DONE = {
  active: (n) => count(n, "{n} rater is active again.", "{n} raters are active again."),
  paused: (n) => count(n, "{n} rater is paused.", "{n} raters are paused."),
  left: (n) => count(n, "{n} rater has left. The link stops working, and a replan gives open work to others.", "{n} raters have left. Their links stop working, and a replan gives open work to others."),
};

export const changeRaters = (more) => new Several({
  path: `${api}/raters`, name: "raters", key: (one) => one.key, type: "urn:plumbline:problem:raters-changed-meanwhile",
  kept: (n) => count(n, "{n} rater was changed by somebody else meanwhile and was left unchanged.", "{n} raters were changed by somebody else meanwhile and were left unchanged."),
  ...more,
});
