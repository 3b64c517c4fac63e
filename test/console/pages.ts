/** The pages that the navigation leads to. */
export const pages = [
  "now",
  "issues",
  "runs",
  "deliveries",
  "agents",
  "routing",
  "connections",
  "plugins",
  "memory",
  "cost",
  "settings",
];
export const settings = ["settings/keys", "settings/storage", "settings/configuration", "settings/audit"];
/** What a stranger may write anywhere: none of it may run, load anything or turn the text round. */
export const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3)) ![b](https://evil.example/x.png) <svg onload=alert(4)> \u202Egnp.exe <a href="data:text/html,<script>alert(5)</script>">c</a>`;
