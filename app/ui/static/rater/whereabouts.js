// Where the rater is in a task, so that who comes back finds the page as they left it: the segment that is worked on,
// the others that are open, and which segment stood where on the screen.

import * as keep from "./keep.js";

const AT = "at";
const FRAMES = 4; // segments off the screen have guessed heights, until they are drawn

const top = (row) => row.element.getBoundingClientRect().top;

export function noteWhereabouts(work) {
  const { screen } = work;
  if (!screen) return;
  const seen = screen.rows.find((row) => row.element.getBoundingClientRect().bottom > 0) ?? screen.current;
  keep.put(AT, {
    task: work.task.task,
    screen: screen.screen.screen,
    segment: screen.current?.n ?? null,
    open: screen.rows.filter((row) => row.isOpen).map((row) => row.n),
    seen: seen?.n ?? null,
    top: seen ? top(seen) : 0,
    above: scrollY > 0,
  });
}

// → where it was in this task, or null.
export function whereabouts(task) {
  const found = keep.get(AT);
  return found?.task === task.task && task.screens.some((one) => one.screen === found.screen) ? found : null;
}

// Scroll until that segment stands where it stood.
export function returnTo(screen, { seen, top: wanted, above }) {
  const row = screen.rows.find((one) => one.n === seen);
  if (!row || !above) return;
  const go = (left) => {
    scrollBy({ top: top(row) - wanted, behavior: "instant" });
    if (left) requestAnimationFrame(() => go(left - 1));
  };
  go(FRAMES);
}
