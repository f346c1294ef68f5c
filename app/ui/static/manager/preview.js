// A task as raters would see it, with the campaign's own texts.

import { $ } from "../shared/dom.js";
import * as keep from "../rater/keep.js";
import { api, get, main } from "./parts.js";
import { showTask } from "./preview_task.js";
import { reading, tried } from "./reading.js";

const form = $("#pick");
keep.keepFor(main.dataset.campaign, "preview");

const show = reading($("#work"), async () => {
  const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  showTask(await get(`${api}/preview?${asked}`), show);
});

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tried(show, $("#said"));
  });
  await show();
}
main.dataset.ready = "yes";
