import { storedChoice } from "../stored-choice.ts";

const theme = storedChoice("signalbox-theme", ["system", "light", "dark"]);

export function applyTheme(): void {
  theme.subscribe((name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
  });
}

export function ThemeChoice() {
  return (
    <label>
      <span class="sr">Theme</span>
      <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as typeof theme.value)}>
        <option value="system">Theme: system</option>
        <option value="light">Theme: light</option>
        <option value="dark">Theme: dark</option>
      </select>
    </label>
  );
}
