import { signal } from "@preact/signals";

const names = ["system", "light", "dark"] as const;
type Theme = (typeof names)[number];
const storageKey = "signalbox-theme";

const theme = signal<Theme>(readTheme());

function readTheme(): Theme {
  try {
    return names.find((name) => name === localStorage.getItem(storageKey)) ?? "system";
  } catch {
    // The browser blocks storage for this site.
    return "system";
  }
}

export function applyTheme(): void {
  theme.subscribe((name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    try {
      localStorage.setItem(storageKey, name);
    } catch {}
  });
}

export function ThemeChoice() {
  return (
    <label>
      <span class="sr">Theme</span>
      <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
        <option value="system">Theme: system</option>
        <option value="light">Theme: light</option>
        <option value="dark">Theme: dark</option>
      </select>
    </label>
  );
}
