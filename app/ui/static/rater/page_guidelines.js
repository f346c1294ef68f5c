// The guidelines were seen; below them stands what is asked, and worked examples to practise on.

import { insist } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { scaleOf } from "./guide.js";
import * as keep from "./keep.js";
import { loadMessages, t } from "../shared/messages.js";
import { layoutOf, practiceAll } from "./practice.js";

const { campaign, rater, sourceLanguage: source, targetLanguage: target, protocol, markup } = $("main").dataset;
const forms = JSON.parse($("main").dataset.forms);

keep.keepFor(campaign, rater);
await loadMessages();
const version = Number($("#guidelines").dataset.version);
if (version) keep.put("guidelines", version);

async function showAsked() {
  const answer = await insist("GET", `/v1/protocols/${protocol}`);
  const form = forms.find((one) => one.level !== "screen");
  const sentences = [...new Set(forms.flatMap((one) => one.instructions))];
  fill($("#asked"), h("h2", {}, t("What you are asked")), h("p", {}, sentences.map((line) => [t(line), " "])),
    scaleOf(form.rubric));
  const fitting = (answer.body?.examples ?? []).filter((one) => fits(one, form)).map((one) => ({ ...one, markup: markup ? layoutOf(one) : null }));
  if (fitting.length) fill($("#practice"), h("h2", {}, t("Practice")), practiceAll(fitting, form, { source, target }));
}

// Examples that answer every question of the form: options of the campaign can ask for other criteria or points.
function fits(example, form) {
  return form.widgets.every(({ kind, field, settings }) => {
    const value = example.payload[field];
    if (kind === "criteria") return settings.criteria.length > 0 && settings.criteria.every(
      (one) => one.name in (value ?? {}),
    );
    if (kind === "choice") return settings.points.some(([at]) => at === value);
    return true;
  });
}

await showAsked();
