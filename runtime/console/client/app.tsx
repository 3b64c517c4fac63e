import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { CallError } from "./api/call.ts";
import { isConnected } from "./api/live.ts";
import { pendingFirstResponses } from "./api/query.ts";
import { logIn, logOut, readSession, session } from "./api/session.ts";
import { Dialog } from "./parts/dialog.tsx";
import { ThemeChoice } from "./parts/theme.tsx";
import { helpShown, shortcuts } from "./route/keys.ts";
import { Link } from "./route/link.tsx";
import { navigate, pageUrl, place } from "./route/location.ts";
import { Outlet } from "./route/outlet.tsx";
import { pages } from "./route/pages.ts";

/** The navigation on a narrow screen. */
const isMenuOpen = signal(false);

export function App() {
  const identity = session.value;
  if (identity === null) return <Opening />;
  if (identity.state === "login_needed") return <Login />;
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <Navigation />
      <main id="content" tabIndex={-1}>
        {!isConnected.value && (
          <p class="banner" role="status">
            The service is not responding. This page may be out of date until it reconnects.
          </p>
        )}
        {pendingFirstResponses.value > 0 && <div class="loading" aria-hidden="true" />}
        <Outlet />
      </main>
      {helpShown.value && <KeyHelp />}
    </div>
  );
}

/** Loads the session; retries while the service does not respond. */
function Opening() {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setInterval(() => {
      setSlow(true);
      void readSession().catch(() => {});
    }, 2_000);
    return () => clearInterval(timer);
  }, []);
  return slow ? (
    <p class="banner" role="status">
      The service is not responding yet. This page opens as soon as it does.
    </p>
  ) : null;
}

function Login() {
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    try {
      await logIn(String(new FormData(form).get("key") ?? ""));
    } catch (fault) {
      setError(fault instanceof CallError ? fault.message : String(fault));
    }
  };
  return (
    <main class="login" id="content">
      <form onSubmit={submit}>
        <h1>Signalbox</h1>
        <label>
          <span>API key</span>
          <input name="key" type="password" autocomplete="current-password" required autofocus spellcheck={false} />
        </label>
        {error && (
          <p role="alert" class="refused">
            {error}
          </p>
        )}
        <button type="submit" class="primary">
          Log in
        </button>
        <p class="hint">
          Use a key from <code>API_KEYS</code> (with Docker Compose, <code>INSTALLATION_KEY</code>), or create one with{" "}
          <code>signalbox keys create</code>. A key with the scope <code>read</code> can view, <code>write</code> can act and
          change agents and routing, and <code>admin</code> also manages keys, accounts and plugins. You stay logged in for 8
          hours.
        </p>
      </form>
    </main>
  );
}

function Navigation() {
  const { path } = place.value;
  const current = path.split("/")[0] || "now";
  const section = { issue: "issues", run: "runs", compare: "runs", delivery: "deliveries", agent: "agents" }[current] ?? current;
  useEffect(() => {
    isMenuOpen.value = false;
  }, [path]);
  const groups = Map.groupBy(pages, ({ group }) => group);
  return (
    <nav aria-label="Console" class={isMenuOpen.value ? "open" : ""}>
      <div class="nav-head">
        <Link to="now" class="brand">
          <span class={isConnected.value ? "lamp" : "lamp off"} aria-hidden="true" />
          Signalbox
        </Link>
        <button
          type="button"
          class="quiet menu"
          aria-expanded={isMenuOpen.value}
          aria-controls="pages"
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          Menu
        </button>
      </div>
      <div id="pages" class="nav-body">
        <Search />
        {[...groups].map(([group, entries]) => (
          <div key={group} class="nav-group">
            <p>{group}</p>
            <ul>
              {entries.map(({ path, title }) => (
                <li key={path}>
                  <Link to={path} current={path === section}>
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <NavigationFoot />
      </div>
    </nav>
  );
}

function Search() {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("q") as HTMLInputElement;
    if (field.value.trim() === "") return;
    navigate(pageUrl("issues", { q: field.value.trim() }));
    field.value = "";
    field.blur();
  };
  return (
    <form class="search" onSubmit={submit}>
      <label>
        <span class="sr">Find an issue</span>
        <input
          id="search"
          name="q"
          type="search"
          placeholder={shortcuts.value === "on" ? "Find an issue  /" : "Find an issue"}
          autocomplete="off"
        />
      </label>
    </form>
  );
}

function NavigationFoot() {
  const identity = session.value;
  if (!identity) return null;
  const rights = identity.scopes.includes("admin")
    ? "full access"
    : identity.scopes.includes("write")
      ? "read and write"
      : "read only";
  return (
    <div class="nav-foot">
      <ThemeChoice />
      <p>{identity.state === "open" ? "No API keys: open to everyone who can reach it" : `${identity.name}: ${rights}`}</p>
      {identity.state === "logged_in" && (
        <button type="button" class="quiet" onClick={() => void logOut()}>
          Log out
        </button>
      )}
      <p>
        <span>{identity.version}</span>
        <button type="button" class="quiet small" onClick={() => (helpShown.value = true)}>
          {shortcuts.value === "on" ? "Shortcuts" : "Shortcuts: off"}
        </button>
      </p>
    </div>
  );
}

function KeyHelp() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (helpShown.value = false)}>
      <label class="row">
        <input
          type="checkbox"
          checked={shortcuts.value === "on"}
          onChange={(event) => (shortcuts.value = event.currentTarget.checked ? "on" : "off")}
        />
        <span>Use these shortcuts in this browser</span>
      </label>
      <dl class={shortcuts.value === "on" ? "keys" : "keys off"}>
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>Search this page, or find an issue</dd>
        {pages.map(({ path, title, letter }) => [
          <dt key={path}>
            <kbd>g</kbd> <kbd>{letter}</kbd>
          </dt>,
          <dd key={`${path}-title`}>{title}</dd>,
        ])}
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>Show this list</dd>
      </dl>
      <div class="buttons">
        <button type="button" onClick={() => (helpShown.value = false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
