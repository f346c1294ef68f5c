// The focus stays in the task: where what held it goes away or is switched off, the next thing there gets it, so that
// whoever works by keys, or listens, is not thrown back to the top of the page.

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";
const SCOPES = ".row, .whole, .note, .hand-in, .pager";

const usable = (element) => element.isConnected && !element.disabled && element.checkVisibility({ visibilityProperty: true });

// fallback: gives the focus to something where nothing is left beside what went away.
export function holdFocus(within, fallback) {
  let held = null;
  let scopes = [];
  within.addEventListener("focusin", ({ target }) => {
    held = target;
    scopes = [];
    for (let scope = target.closest(SCOPES); scope; scope = scope.parentElement?.closest(SCOPES)) scopes.push(scope);
  });
  // Whoever clicks elsewhere has let go of it; then it is no business of ours.
  within.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (!relatedTarget) queueMicrotask(() => held === target && usable(target) && (held = null));
  });
  const mend = () => {
    const now = document.activeElement;
    if (!held || usable(held) || (now !== document.body && now !== held)) return;
    const lost = held;
    held = null;
    const scope = scopes.find((one) => usable(one));
    const there = scope ? [...scope.querySelectorAll(FOCUSABLE)].filter(usable) : [];
    const after = there.find((one) => lost.isConnected && lost.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
    const found = after ?? there[0];
    if (found) found.focus({ preventScroll: true });
    else fallback();
  };
  new MutationObserver(mend).observe(
    within,
    { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden"] },
  );
}
