// What takes long is begun by its button, or by the form that has just asked for it, never by opening a page.

import { $ } from "../shared/dom.js";
import { hasAsked } from "../shared/asked.js";
import { change, resting } from "./parts.js";

const place = $("#start");
const begin = $("[data-begin]", place);

begin.addEventListener("click", () => resting(begin, async () => {
  const { start, method, body } = place.dataset;
  const given = { said: $(".said", place), headers: { Prefer: "wait=0" } };
  if (await change(method, start, body ? { ...given, body: JSON.parse(body) } : given)) location.reload();
}));

if (hasAsked()) begin.click();
