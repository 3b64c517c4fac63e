import { signal } from "@preact/signals";
import { storedChoice } from "../stored-choice.ts";
import { navigate, pageUrl } from "./location.ts";
import { pages } from "./pages.ts";

/** Whether the list of keys is shown. */
export const helpShown = signal(false);

/** Whether the shortcuts work. Speech input and a slipping hand also press single letters. */
export const shortcuts = storedChoice("signalbox-shortcuts", ["on", "off"]);

/** Maximum time between `g` and the letter after it. */
const chordMs = 1_500;

/**
 * `/` focuses the search, `g` and a letter open a page, `?` shows the list of keys. Disabled while the user is typing, and if
 * switched off.
 */
export function listenForKeys(): void {
  let chordUntil = 0;
  addEventListener("keydown", (event) => {
    if (shortcuts.value === "off" || isWriting(event.target) || document.querySelector("dialog[open]")) return;
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      focusSearch();
    } else if (event.key === "?") helpShown.value = true;
    else if (event.timeStamp < chordUntil) {
      chordUntil = 0;
      const page = pages.find(({ letter }) => letter === event.key);
      if (page) navigate(pageUrl(page.path));
    } else if (event.key === "g") chordUntil = event.timeStamp + chordMs;
  });
}

/** The search field of the page if it has one, otherwise the search of all issues. */
function focusSearch(): void {
  const pageSearch = document.querySelector<HTMLInputElement>("main input[type=search]");
  const field = pageSearch ?? document.querySelector<HTMLInputElement>("#search");
  field?.focus();
  field?.select();
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
