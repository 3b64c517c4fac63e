import { render } from "preact";
import { followChanges } from "./api/live.ts";
import { isAdmitted, readSession } from "./api/session.ts";
import { App } from "./app.tsx";
import { applyTheme } from "./parts/theme.tsx";
import { listenForKeys } from "./route/keys.ts";

applyTheme();
listenForKeys();
render(<App />, document.getElementById("app") as HTMLElement);
void readSession()
  .catch(() => {})
  .then(() => followChanges(isAdmitted));
