// Report a problem with a segment without leaving it.

import { idempotencyKey } from "../shared/api.js";
import { announce, dialog, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { notice } from "./notices.js";
import { sendForm } from "./sending.js";

const REASONS = {
  bad_source: () => t("The source is broken or makes no sense"),
  wrong_language: () => t("A text is in the wrong language"),
  technical: () => t("Something does not work"),
  offensive: () => t("The content is offensive or harmful"),
  other: () => t("Something else"),
};

export function reportProblem(task, item, segment) {
  const [reasonId, noteId, key] = [fresh("reason"), fresh("note"), idempotencyKey()];
  const reason = h(
    "select",
    { id: reasonId, name: "reason" },
    Object.entries(REASONS).map(([value, label]) => h("option", { value }, label())),
  );
  const note = h("textarea", { id: noteId, name: "note", rows: "3", maxlength: "4000" });
  const said = h("p", { class: "said", role: "alert" });
  const form = h(
    "form",
    {},
    h("label", { for: reasonId }, t("What is wrong")),
    reason,
    h("label", { for: noteId }, t("Note (optional)")),
    note,
    said,
    h("button", { type: "submit" }, t("Send")),
  );
  const box = dialog(t("Report a problem"), form, { closeLabel: t("Cancel") });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { reason: reason.value, item, segment: segment ?? null, note: note.value.trim() || null };
    if (!(await sendForm(form, said, `/v1/tasks/${task}/flags`, { body, key }))) return;
    box.close();
    announce(t("Reported."));
    notice("flag", t("Thank you, the problem is reported. Judge the segment as well as you can."));
  });
}
