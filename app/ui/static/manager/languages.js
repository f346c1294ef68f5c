// Languages are chosen from a list by name; what is stored is the code. A code that the list lacks may be typed.

import { language, locale, t } from "../shared/messages.js";

const CODE = /^[a-z]{2,3}([-_][a-z0-9]{2,8})*$/i;

export function offerLanguages(form) {
  const list = document.querySelector("#languages");
  const names = new Intl.DisplayNames([locale(), language()], { type: "language" });
  const codes = new Map();
  for (const option of list.options) {
    const name = names.of(option.value);
    codes.set(name.toLocaleLowerCase(), option.value);
    option.label = name;
  }
  for (const input of form.querySelectorAll("[list=languages]")) {
    const settle = () => {
      const typed = input.value.trim();
      input.value = codes.get(typed.toLocaleLowerCase()) ?? typed;
      const known = !input.value || CODE.test(input.value);
      input.setCustomValidity(known ? "" : t("Choose a language from the list, or type its code, such as pt-BR."));
    };
    input.addEventListener("change", settle);
  }
}
