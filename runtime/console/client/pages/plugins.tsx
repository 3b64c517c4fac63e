import type { Plugin } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Badge, State } from "../parts/badge.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";
import { query, setQuery } from "../route/location.ts";
import { PluginDetail } from "./plugin-detail.tsx";

export function PluginsPage() {
  const plugins = useQuery("plugins", async (signal) => {
    const [installed, refused] = await Promise.all([
      list("plugins.list", { limit: 1000 }, signal),
      list("plugins.refused", { limit: 1000 }, signal),
    ]);
    return { installed: installed.items, refused: refused.items };
  });
  return (
    <Page title="Plugins">
      <QueryResult query={plugins}>
        {({ installed, refused }) => (
          <>
            {refused.length > 0 && (
              <Section title="Refused">
                <ul class="list">
                  {refused.map(({ name, code, reason }) => (
                    <li key={name}>
                      <Badge tone="bad">{code}</Badge>
                      <span class="main">
                        <Text>{name}</Text>
                        <span class="why">
                          <Text max={500}>{reason}</Text>
                        </span>
                      </span>
                    </li>
                  ))}
                </ul>
              </Section>
            )}
            {installed.length === 0 ? (
              <Empty title="No plugins installed.">
                Trackers, memories and queues are built in. Install more with <code>signalbox plugin install NAME</code>, then
                approve them here.
              </Empty>
            ) : (
              installed.map((plugin) => <Row key={plugin.id} plugin={plugin} reload={plugins.reload} />)
            )}
          </>
        )}
      </QueryResult>
    </Page>
  );
}

function Row({ plugin, reload }: { plugin: Plugin; reload: () => Promise<void> }) {
  const open = query.value.get("id") === plugin.id;
  const { state } = plugin;
  return (
    <section class="card plugin">
      <div class="node-head">
        <h2>
          <button
            type="button"
            class="quiet plain-name"
            aria-expanded={open}
            onClick={() => setQuery({ id: open ? null : plugin.id })}
          >
            <Text>{plugin.title ?? plugin.id}</Text>
          </button>
        </h2>
        <State of="plugin" state={state} />
        <span class="soft">{plugin.version ?? "no active version"}</span>
        {plugin.waiting && <Badge tone="wait">{`${plugin.waiting.version} needs approval`}</Badge>}
      </div>
      {plugin.about && (
        <p class="soft">
          <Text max={400}>{plugin.about}</Text>
        </p>
      )}
      {plugin.reason && (
        <p class="refused">
          <Text max={600}>{plugin.reason}</Text>
        </p>
      )}
      {open && <PluginDetail plugin={plugin} reload={reload} />}
    </section>
  );
}
