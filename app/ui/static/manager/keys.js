// A key that cannot be one is told in the page's own words, in the form, not over the hint by the browser.

import { $ } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { say } from "./parts.js";

export function checkKey(form) {
  const input = form.elements.key;
  const said = $(".said", form);
  input.addEventListener("invalid", (event) => {
    if (!input.validity.patternMismatch) return;
    event.preventDefault();
    say(said, t("This is not a valid key. Use only letters, digits and . _ ~ : @ + -, without spaces."));
    input.focus();
  });
}
