import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isConnected } from "../api/live.ts";
import { NowPage } from "../pages/now.tsx";
import { RunsPage } from "../pages/runs.tsx";
import { Empty, Guarded, Page } from "../parts/page.tsx";
import { Link } from "./link.tsx";
import { place } from "./location.ts";

type PageComponent = ComponentType<{ id: string }>;

/** Pages that are loaded at first use. */
const lazyPages: Readonly<Record<string, () => Promise<PageComponent>>> = {
  issues: async () => (await import("../pages/issues.tsx")).IssuesPage,
  issue: async () => (await import("../pages/issue.tsx")).IssuePage,
  run: async () => (await import("../pages/run.tsx")).RunPage,
  deliveries: async () => (await import("../pages/deliveries.tsx")).DeliveriesPage,
  compare: async () => (await import("../pages/compare.tsx")).ComparePage,
  agents: async () => (await import("../pages/agents.tsx")).AgentsPage,
  agent: async () => (await import("../pages/agent.tsx")).AgentPage,
  routing: async () => (await import("../pages/routing.tsx")).RoutingPage,
  connections: async () => (await import("../pages/connections.tsx")).ConnectionsPage,
  plugins: async () => (await import("../pages/plugins.tsx")).PluginsPage,
  memory: async () => (await import("../pages/memory.tsx")).MemoryPage,
  cost: async () => (await import("../pages/cost.tsx")).CostPage,
  settings: async () => (await import("../pages/settings.tsx")).SettingsPage,
  delivery: async () => (await import("../pages/delivery.tsx")).DeliveryPage,
};
const loadedPages = new Map<string, PageComponent>([
  ["", NowPage],
  ["now", NowPage],
  ["runs", RunsPage],
]);

/** The page that the address names: the first part of the path is its name, the rest its `id`. */
export function Outlet() {
  const [name = "", ...rest] = place.value.path.split("/");
  const [, arrived] = useState(0);
  const [failed, setFailed] = useState<string | null>(null);
  const LoadedPage = loadedPages.get(name);
  const load = Object.hasOwn(lazyPages, name) ? lazyPages[name] : undefined;
  useEffect(() => {
    if (LoadedPage || !load) return;
    load().then(
      (page) => {
        loadedPages.set(name, page);
        arrived((count) => count + 1);
      },
      () => setFailed(name),
    );
  }, [name, LoadedPage, load, isConnected.value]);
  // The tabs of the settings remain visible while one of them loads.
  if (LoadedPage)
    return (
      <Guarded key={name === "settings" ? name : place.value.path}>
        <LoadedPage id={rest.map(decodePart).join("/")} />
      </Guarded>
    );
  if (failed === name) return <Outdated />;
  return load ? null : <Missing />;
}

const decodePart = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The service does not answer, or it was updated while the page was open, so that the file of the new page no longer exists. */
function Outdated() {
  if (!isConnected.value)
    return (
      <Page title="Not loaded">
        <Empty title="This page could not be loaded.">It opens as soon as the service responds.</Empty>
      </Page>
    );
  return (
    <Page title="A new version is available">
      <Empty title="The service was updated. Reload to open this page.">
        <button type="button" class="primary" onClick={() => location.reload()}>
          Reload
        </button>
      </Empty>
    </Page>
  );
}

function Missing() {
  return (
    <Page title="Not found">
      <Empty title="This page does not exist.">
        <Link to="now">Go to Now</Link>
      </Empty>
    </Page>
  );
}
