import type { ComponentType } from "preact";
import { rights } from "../api/session.ts";
import { Empty, Page } from "../parts/page.tsx";
import { Link } from "../route/link.tsx";
import { AuditSettings } from "./settings-audit.tsx";
import { ConfigurationSettings } from "./settings-configuration.tsx";
import { KeySettings } from "./settings-keys.tsx";
import { StorageSettings } from "./settings-storage.tsx";

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly admin: boolean;
  readonly Content: ComponentType;
}

const tabs: readonly Tab[] = [
  { id: "keys", title: "API keys", admin: true, Content: KeySettings },
  { id: "storage", title: "Storage", admin: false, Content: StorageSettings },
  { id: "configuration", title: "Configuration", admin: true, Content: ConfigurationSettings },
  { id: "audit", title: "Audit log", admin: true, Content: AuditSettings },
];

export function SettingsPage({ id }: { id: string }) {
  const open = tabs.find((tab) => tab.id === id) ?? (rights.value.admin ? tabs[0] : tabs.find(({ admin }) => !admin));
  if (!open) return null;
  return (
    <Page title="Settings" name={open.title}>
      <ul class="tabs">
        {tabs.map((tab) => (
          <li key={tab.id}>
            <Link to={`settings/${tab.id}`} current={tab === open}>
              {tab.title}
            </Link>
          </li>
        ))}
      </ul>
      {open.admin && !rights.value.admin ? (
        <Empty title="Your key does not have access to this page.">Log in with a key that has the admin scope.</Empty>
      ) : (
        <open.Content />
      )}
    </Page>
  );
}
