// What is asked about a mark stands beside it, wherever in a long text that is; on a phone at the foot of the screen,
// where the style sheet puts it. Its own place is kept free meanwhile, so that nothing below moves.

const GAP = 6; // pixels

export function standNear(tools, mark) {
  const place = tools.parentElement;
  tools.classList.toggle("at-mark", false);
  if (!mark) {
    place.style.minHeight = "";
    return;
  }
  place.style.minHeight = `${place.offsetHeight}px`;
  tools.classList.add("at-mark");
  if (getComputedStyle(tools).position === "fixed") {
    keepInSight(mark, tools);
    return;
  }
  const within = tools.closest(".row").getBoundingClientRect();
  const [first, last] = [mark.getClientRects()[0], [...mark.getClientRects()].at(-1)];
  const below = last.bottom + GAP + tools.offsetHeight <= innerHeight;
  const top = (below ? last.bottom + GAP : first.top - GAP - tools.offsetHeight) - within.top;
  const left = Math.min(last.left - within.left, within.width - tools.offsetWidth - GAP);
  tools.style.setProperty("--from-top", `${Math.round(top)}px`);
  tools.style.setProperty("--from-left", `${Math.round(Math.max(left, GAP))}px`);
}

// What is at the foot of the screen does not hide what it is about.
function keepInSight(mark, tools) {
  const under = mark.getBoundingClientRect().bottom + GAP - (innerHeight - tools.offsetHeight);
  if (under > 0) scrollBy({ top: under, behavior: "instant" });
}
