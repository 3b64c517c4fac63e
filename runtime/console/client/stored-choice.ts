import { type Signal, signal } from "@preact/signals";

/** A choice that this browser keeps. If the browser blocks storage for this site, it lasts until the page is closed. */
export function storedChoice<const T extends readonly [string, ...string[]]>(key: string, choices: T): Signal<T[number]> {
  const known = (text: string | null): T[number] => choices.find((one) => one === text) ?? choices[0];
  const choice = signal(known(read(key)));
  choice.subscribe((one) => {
    try {
      localStorage.setItem(key, one);
    } catch {}
  });
  // Another tab has changed it.
  addEventListener("storage", (event) => {
    if (event.key === key) choice.value = known(event.newValue);
  });
  return choice;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
