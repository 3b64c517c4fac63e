import { sources as builtInSources } from "@signalbox/schema/common";
import type * as health from "@signalbox/schema/health";
import type * as integrations from "@signalbox/schema/integrations";
import type * as mappings from "@signalbox/schema/mappings";
import type { Output } from "@signalbox/schema/operation";
import type * as plugins from "@signalbox/schema/plugins";
import type * as tools from "@signalbox/schema/tools";
import type * as webhookMappings from "@signalbox/schema/webhook-mappings";

type Plugin = Pick<Output<typeof plugins.get>, "id" | "state" | "sources" | "tools">;

/** What names sources and tools, and the plugins that provide them. */
export interface PluginUses {
  readonly sources: readonly Pick<Output<typeof mappings.createSource>, "id" | "source" | "event_name" | "action">[];
  readonly webhooks: readonly Pick<Output<typeof webhookMappings.get>, "id" | "source" | "event_type" | "path_pattern">[];
  /** Stored accounts. */
  readonly accounts: readonly Pick<Output<typeof integrations.get>, "id" | "source" | "name">[];
  readonly tools: readonly Pick<Output<typeof tools.list>["items"][number], "qualified_name" | "origin" | "endpoint">[];
  readonly plugins: readonly Plugin[];
  /** Configured plugins that do not run. Those of SIGNALBOX_PLUGINS are only here, so what they provide is unknown. */
  readonly refusedPlugins: readonly Pick<Output<typeof plugins.refused>["items"][number], "name">[];
  readonly deferred: NonNullable<Output<typeof health.get>["deferred_webhooks"]>;
}

/** A row that names a source, and the command that deletes it. */
interface Use {
  readonly source: string;
  readonly name: string;
  readonly remove: string;
}

/**
 * Leftovers of removed or disabled plugins: rows that name their sources, descriptions of their tools, and webhooks
 * that wait for them. The checks of the status report what fails without a plugin, such as polls and knowledge sources.
 */
export function missingPlugins(uses: PluginUses): string[] {
  return [...unprovidedSources(uses), ...unprovidedTools(uses), ...waitingWebhooks(uses)];
}

const isOff = ({ state }: Plugin): boolean => state === "approved" || state === "installed";

/** What to do about something that no known plugin provides. */
function remedyFor(uses: PluginUses, otherwise: string): string {
  const known = new Set(uses.plugins.map(({ id }) => id));
  const refused = uses.refusedPlugins.map(({ name }) => name).filter((one) => !known.has(one));
  if (refused.length === 0) return `Install its plugin, or ${otherwise}`;
  return `If it belongs to a plugin that was refused at the start, correct that plugin first: ${firstOf(refused)}`;
}

function unprovidedSources(all: PluginUses): string[] {
  const { sources, webhooks, accounts, plugins } = all;
  const provided = new Set<string>([
    ...builtInSources,
    // A mapping with a path reads the events of its source itself.
    ...webhooks.filter(({ path_pattern }) => path_pattern !== null).map(({ source }) => source),
    ...plugins.filter((one) => !isOff(one)).flatMap((one) => one.sources),
  ]);
  const uses: Use[] = [
    ...sources.map(({ id, source, event_name, action }): Use => {
      const name = `the mapping of ${event_name}${action === null ? "" : `/${action}`}`;
      return { source, name, remove: `signalbox sources delete ${id}` };
    }),
    ...webhooks.map(({ id, source, event_type }): Use => {
      return {
        source,
        name: `the webhook mapping ${event_type === null ? id : `of ${event_type}`}`,
        remove: `signalbox webhook-mappings delete ${id}`,
      };
    }),
    ...accounts.map(({ id, source, name }): Use => {
      return { source, name: `the integration ${name}`, remove: `signalbox integrations delete ${id}` };
    }),
  ];
  const left = Map.groupBy(
    uses.filter(({ source }) => !provided.has(source)),
    ({ source }) => source,
  );
  return [...left].map(([source, rows]) => {
    const owner = plugins.find((one) => one.sources.includes(source));
    const effect = `so ${rows.length === 1 ? "this does" : "these do"} nothing: ${firstOf(rows.map(({ name }) => name))}`;
    if (owner) return `The source ${source} is not available, ${effect}. ${remedyOf(owner)}`;
    const remedy = remedyFor(all, `run: ${firstOf(rows.map(({ remove }) => remove))}`);
    return `No plugin provides the source ${source}, ${effect}. ${remedy}`;
  });
}

/** Descriptions that are stored for the tools of a plugin. Without the plugin, the tool is listed but cannot be called. */
const unprovidedTools = (uses: PluginUses): string[] =>
  uses.tools
    .filter(({ origin, endpoint }) => origin === "database" && endpoint === null)
    .flatMap(({ qualified_name: name }) => {
      const owner = uses.plugins.find((one) => one.tools.includes(name));
      // The check of a plugin that is enabled says why it does not run.
      if (owner && !isOff(owner)) return [];
      const remedy = owner ? remedyOf(owner) : remedyFor(uses, `run: signalbox tools delete ${name}`);
      return [`The stored tool ${name} cannot be called: it has no endpoint, and no plugin or MCP server provides it. ${remedy}`];
    });

const waitingWebhooks = ({ deferred, plugins, refusedPlugins }: PluginUses): string[] =>
  deferred.flatMap(({ plugin, slug, count, oldest_at }) => {
    const owner = plugins.find(({ id }) => id === plugin);
    // The check of a plugin that is enabled says why it does not read them.
    if (owner ? !isOff(owner) : refusedPlugins.some(({ name }) => name === plugin)) return [];
    const webhooks = count === 1 ? "1 webhook waits" : `${count} webhooks wait`;
    const remedy = owner ? remedyOf(owner) : "Install it with: signalbox plugin install";
    return [`${webhooks} at /webhook/${slug} for the plugin ${plugin}, the oldest since ${oldest_at}. ${remedy}`];
  });

const remedyOf = ({ id, state }: Plugin): string =>
  state === "approved"
    ? `The plugin ${id} is disabled: signalbox plugin enable ${id}`
    : `The plugin ${id} waits for approval: signalbox plugin permissions ${id}`;

const maxNamed = 10;
const firstOf = (all: readonly string[]): string =>
  `${all.slice(0, maxNamed).join(", ")}${all.length > maxNamed ? ` and ${all.length - maxNamed} more` : ""}`;
