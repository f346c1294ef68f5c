// Signing in and out. A link carries its token in the fragment (#token=…&next=/…), which browsers never send;
// it is exchanged for a cookie that scripts cannot read, and leaves the address before anything else happens.

const HOME = "/campaigns";

function insideOnly(address) {
  const target = new URL(address || HOME, location.origin);
  return target.origin === location.origin ? target.pathname + target.search : HOME;
}

function fromFragment() {
  const fragment = location.hash.slice(1);
  if (fragment && !fragment.includes("=")) return { token: decodeURIComponent(fragment), next: null };
  const fields = new URLSearchParams(fragment);
  return { token: fields.get("token"), next: fields.get("next") };
}

async function signIn(token, next) {
  const answer = await fetch("/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token: token.trim() }),
  });
  if (answer.ok) {
    location.replace(insideOnly(next));
    return;
  }
  const known = answer.status === 401 || answer.status === 422;
  throw new Error(known ? "This token is not known, or it has ended." : "Signing in failed. Try again in a moment.");
}

async function tried(form, token, next) {
  const said = form.querySelector(".said");
  const button = form.querySelector("button");
  button.disabled = true;
  said.textContent = "";
  try {
    await signIn(token, next);
  } catch (error) {
    said.textContent = error instanceof TypeError ? "The server cannot be reached." : error.message;
  } finally {
    button.disabled = false;
  }
}

async function signOut() {
  const proof = document.querySelector("meta[name=csrf]").content;
  await fetch("/v1/session", { method: "DELETE", headers: { "X-CSRF-Token": proof } });
  location.replace("/");
}

// A page that was opened from another site came without the cookie, which such requests do not carry.
async function alreadyIn(next) {
  const answer = await fetch("/v1/session");
  if (answer.ok) location.replace(insideOnly(next));
}

const form = document.querySelector("[data-sign-in]");
if (form) {
  let next = HOME;
  const enter = () => {
    const given = fromFragment();
    next = given.next || next;
    if (given.token) {
      history.replaceState(null, "", location.pathname);
      tried(form, given.token, next);
    } else if (given.next) {
      alreadyIn(next);
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tried(form, form.elements.token.value, next);
  });
  addEventListener("hashchange", enter);
  enter();
}
document.querySelector("[data-sign-out]")?.addEventListener("click", signOut);
