// Signing in and out. A link carries its token in the fragment (#token=…&next=/…), which browsers never send;
// it is exchanged for a cookie that scripts cannot read, and leaves the address before anything else happens.
// An invitation (#invitation=ID.SECRET) is claimed under the id that a crowd platform put into query or fragment.

import { asks } from "./shared/asked.js";
import { forgetKept, unsent } from "./shared/forget.js";
import { count, loadMessages, t } from "./shared/messages.js";
import "./shared/ways.js";

const HOME = "/campaigns";
const RATERS = "/rate";
const NO_SESSION = [401, 404]; // statuses that say that there is none any more
const LATELY = 10_000; // milliseconds
const PLATFORM_IDS = ["PROLIFIC_PID", "workerId", "worker_id", "external_id"];

function insideOnly(address) {
  const target = new URL(address || HOME, location.origin);
  return target.origin === location.origin ? target.pathname + target.search : HOME;
}

function fromFragment() {
  const fragment = location.hash.slice(1);
  if (fragment && !fragment.includes("=")) return { token: decodeURIComponent(fragment), next: null };
  const fields = new URLSearchParams(fragment);
  const given = { token: fields.get("token"), next: fields.get("next") };
  if (fields.get("invitation")) {
    const [id, secret] = fields.get("invitation").split(".");
    given.seat = { id, secret, externalId: platformId(fields), signature: signature(fields) };
  }
  return given;
}

function platformId(fields) {
  const places = [new URLSearchParams(location.search), fields];
  const found = PLATFORM_IDS.flatMap((name) => places.map((place) => place.get(name)));
  return found.find((id) => id) || "";
}

const signature = (fields) => new URLSearchParams(location.search).get("signature") || fields.get("signature");

async function post(address, body) {
  const headers = { "Content-Type": "application/json" };
  return fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
}

async function signIn(token, next) {
  const answer = await post("/v1/session", { token: token.trim() });
  if (answer.ok) return goOn((await answer.json()).me.role, next);
  if (answer.status === 401 && (await answer.json()).type.endsWith("link-opened")) throw new Error(
    t("This link has already been used, and it works only once. Go back to that browser, or ask for a new link."),
  );
  const known = answer.status === 401 || answer.status === 422;
  throw new Error(
    known ? t("This token is unknown or has expired.") : t("Signing in failed. Try again in a moment."),
  );
}

async function takeSeat(seat, next) {
  if (!seat.externalId) throw new Error(t("The platform did not send your id. Open the link from the platform again."));
  const address = `/v1/invitations/${encodeURIComponent(seat.id)}/claim`;
  const answer = await post(address, { secret: seat.secret, external_id: seat.externalId, signature: seat.signature });
  if (answer.ok) return goOn("rater", next);
  if ([403, 409, 429].includes(answer.status)) throw new Error(`${(await answer.json()).title}.`);
  const known = answer.status === 404 || answer.status === 422;
  throw new Error(
    known ? t("This invitation is unknown or has expired.") : t("Signing in failed. Try again in a moment."),
  );
}

// What staff see is not for raters, and the other way round.
async function goOn(role, next) {
  await forgetKept(); // by whoever was here before
  const ofRaters = next === RATERS || next?.startsWith(`${RATERS}/`);
  if (role === "rater") location.replace(ofRaters ? insideOnly(next) : RATERS);
  else location.replace(insideOnly(ofRaters ? HOME : next));
  return "";
}

// What is said of a token stands below its field, which describes itself by it.
function refuseToken(field) {
  if (!field.value) return; // it came by a link
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

async function tried(form, enters) {
  const said = form.querySelector(".said");
  const button = form.querySelector("button");
  button.disabled = true;
  said.textContent = "";
  form.elements.token.removeAttribute("aria-invalid");
  await loadMessages();
  try {
    said.textContent = await enters();
  } catch (error) {
    said.textContent = error instanceof TypeError ? t("The server cannot be reached.") : error.message;
    if (!(error instanceof TypeError)) refuseToken(form.elements.token);
  } finally {
    button.disabled = false;
  }
}

// Who signed in with their organization's account signs out there too.
async function signOut({ currentTarget: button }) {
  document.querySelector("#signing-out")?.remove();
  button.disabled = true;
  try {
    await forgetKept();
    const proof = document.querySelector("meta[name=csrf]").content;
    const session = await fetch("/v1/session");
    const elsewhere = session.ok ? (await session.json()).sign_out_url : null;
    const answer = await fetch("/v1/session", { method: "DELETE", headers: { "X-CSRF-Token": proof } });
    if (answer.ok || NO_SESSION.includes(answer.status)) location.replace(elsewhere ?? "/");
    else await tellStillSignedIn();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    await tellStillSignedIn();
  } finally {
    button.disabled = false;
  }
}

// Who believes that they signed out leaves the browser to the next person.
async function tellStillSignedIn() {
  await loadMessages();
  const said = document.createElement("p");
  said.id = "signing-out";
  said.className = "said";
  said.setAttribute("role", "alert");
  document.querySelector("main").prepend(said);
  said.textContent = t("Signing out failed. You are still signed in. Try again in a moment.");
  said.scrollIntoView({ block: "center" });
}

function signInAtProvider(event) {
  event.preventDefault();
  const { next } = fromFragment();
  location.assign(next ? `${event.currentTarget.href}?${new URLSearchParams({ next: insideOnly(next) })}` : event.currentTarget.href);
}

// A page that was opened from another site came without the cookie, which such requests do not carry. Once: where the
// session is no good for that page, it leads here again.
async function alreadyIn(next) {
  const answer = await fetch("/v1/session");
  if (!answer.ok || Date.now() - Number(sessionStorage.getItem(next)) < LATELY) return;
  sessionStorage.setItem(next, String(Date.now()));
  location.replace(insideOnly(next));
}

document.addEventListener("submit", ({ target }) => target.getAttribute("method") === "get" && asks());

// A rater who was led here has no session any more, and may have judged something that is not sent yet.
async function tellWaiting(next) {
  const led = next?.startsWith(RATERS);
  const waiting = unsent();
  if (!led && !waiting) return;
  await loadMessages();
  const place = document.querySelector("#waiting");
  place.textContent = [
    led ? t("You are signed out. If your link has expired, ask the person who sent it for a new one.") : "",
    waiting ? count(
      waiting,
      "One answer is stored only in this browser. To send it, open your link here.",
      "{n} answers are stored only in this browser. To send them, open your link here.",
    ) : "",
  ].join(" ").trim();
  place.hidden = false;
}

const form = document.querySelector("[data-sign-in]");
if (form) {
  let next = HOME;
  tellWaiting(fromFragment().next);
  const enter = () => {
    const given = fromFragment();
    next = given.next || next;
    if (given.token || given.seat) {
      history.replaceState(null, "", location.pathname);
      tried(form, () => (given.seat ? takeSeat(given.seat, given.next) : signIn(given.token, given.next)));
    } else if (given.next) {
      alreadyIn(next);
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tried(form, () => signIn(form.elements.token.value, next === HOME ? null : next));
  });
  addEventListener("hashchange", enter);
  enter();
}
document.querySelector("[data-sign-in-at-provider]")?.addEventListener("click", signInAtProvider);
const goesOn = document.querySelector("[data-go-on]");
if (goesOn) forgetKept().then(() => location.replace(goesOn.href)); // by whoever was here before
document.querySelector("[data-sign-out]")?.addEventListener("click", signOut);
