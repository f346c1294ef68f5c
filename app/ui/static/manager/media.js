// Audio, video and pictures of a campaign: sent in parts, so that a break costs no more than one, and listed.

import { csrf } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { loadRefusals, t } from "../shared/messages.js";
import { all, api, change, decimal, figure, resting, say, table, tell, told } from "./parts.js";
import { reading } from "./reading.js";

const PART = 8 * 1024 * 1024; // bytes
const section = $("#media");
const form = $("form", section);
const said = $(".said", section);
const place = $("#media-files");

const read = reading(place, async () => show(await all(`${api}/media`)));

function show(files) {
  if (files.length) section.open = true;
  if (!files.length) {
    fill(place, h("p", { class: "quiet" }, t("No media yet.")));
    return;
  }
  const remover = (file) => button(t("Delete"), (event) => resting(event.currentTarget, () => remove(file)), {
    class: "quiet",
    "aria-label": t("Delete {name}", { name: file.name }),
  });
  fill(place, table(t("Media"), [
    [t("Name"), (file) => h("a", { href: `${api}/media/${encodeURIComponent(file.name)}/content` }, file.name), ""],
    [t("Type"), (file) => file.media_type, ""],
    [t("Size in MB"), (file) => decimal(file.size / 1e6, 1), "right"],
    [t("Seconds"), (file) => decimal(file.duration_ms === null ? null : file.duration_ms / 1000, 1), "right"],
    [t("Pixels"), (file) => (file.width === null ? null : `${file.width} × ${file.height}`), "right"],
    [h("span", { class: "hidden" }, t("Delete")), remover, ""],
  ], files));
}

async function remove(file) {
  if (await change("DELETE", `${api}/media/${encodeURIComponent(file.name)}`, { said })) await read();
}

const LONGEST = 128; // characters of a name

// As the server makes names, so that texts find the file: what a name cannot hold becomes an underscore, with a digest
// of the whole, which browsers have over HTTPS and on the machine itself only. A name is cut before its page is.
async function nameOf({ name: given }, page) {
  let name = given;
  try {
    name = decodeURIComponent(given);
  } catch (error) {
    if (!(error instanceof URIError)) throw error; // a name with a per cent sign in it
  }
  const mark = page ? `~page${page}` : "";
  const whole = /^[A-Za-z0-9._~:@+-]{1,128}$/.test(name) ? name : await shortened(name, LONGEST);
  return (whole.length + mark.length <= LONGEST ? whole : await shortened(whole, LONGEST - mark.length)) + mark;
}

async function shortened(name, most) {
  const plain = name.replace(/[^A-Za-z0-9._~:@+-]+/g, "_");
  if (!crypto.subtle) return plain.slice(-most);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name)));
  return `${plain.slice(0, most - 9)}~${[...digest.slice(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

async function send(file) {
  const page = /\.pdf$/i.test(file.name) ? form.elements.page.value : "";
  const [name, size] = [await nameOf(file, page), file.size];
  const uploads = await change("GET", `${api}/media-uploads`, { said });
  if (!uploads) return false;
  let upload = uploads.body.uploads.find((one) => one.name === name && one.size === size);
  upload ??= (await change("POST", `${api}/media-uploads`, { body: { name, size }, said }))?.body;
  while (upload && !upload.media) {
    say(said, t("{name}: {n} %", { name, n: Math.floor((100 * upload.offset) / size) }));
    upload = await sendPart(file, upload);
  }
  return Boolean(upload);
}

async function sendPart(file, { upload, offset }) {
  try {
    const answer = await fetch(`${api}/media-uploads/${upload}`, {
      method: "PATCH",
      headers: { Accept: "application/json", "X-CSRF-Token": csrf(), "Upload-Offset": String(offset) },
      body: file.slice(offset, offset + PART),
    });
    const body = await answer.json();
    if (answer.ok) return body;
    await loadRefusals();
    tell(said, told({ status: answer.status, ok: false, body }));
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
    say(said, t("The connection broke. Send the file again; it continues where it stopped."));
  }
  return null;
}

export function beginMedia() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    resting($("button", form), async () => {
      for (const file of form.elements.media.files) {
        if (!(await send(file))) return;
        say(said, "");
        await read();
      }
      form.reset();
    });
  });

  return read();
}
