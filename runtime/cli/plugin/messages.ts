import type { PluginEntity } from "./operator-context.ts";

/** Text of a plugin's author must not control the terminal. */
export const singleLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");

/** The permissions of a plugin, and the additional ones that a waiting version requests. */
export function permissionsText(plugin: PluginEntity): string {
  const { permissions, denied, needs, settings, version } = plugin;
  const lines = [
    ...permissions.http.map(({ host, methods, why }) => `http: ${methods.join(", ")} https://${host} (${why})`),
    ...permissions.operations.map(({ id, why }) => `operation: ${id} (${why})`),
    ...permissions.open_routes.map(({ name, why }) => `open route: ${name}, needs no API key (${why})`),
    ...needs.map((need) => `capability: ${need}`),
    ...settings
      .filter(({ secret }) => secret)
      .map(({ name, injected }) => `secret: ${name}, ${injected ? "added by the host" : "readable by the plugin"}`),
  ];
  const permissionText = version === null ? "" : `Permissions of ${plugin.id} ${version}:\n${list(lines)}`;
  const denialText = denied.length === 0 ? "" : `Permissions that ${plugin.id} requests and an operator denied:\n${list(denied)}`;
  return `${permissionText}${denialText}${requestedText(plugin)}`;
}

/** The breaking changes that a version number does not announce, one per line. */
export function breakingChangesText({ id, versions, waiting }: PluginEntity, version: string): string {
  const changes = waiting?.version === version ? waiting.breaks : (versions.find((one) => one.version === version)?.breaks ?? []);
  return changes
    .map(
      (what) =>
        `warning: ${id} ${version} contains breaking changes that its version number does not announce: ${singleLine(what)}\n`,
    )
    .join("");
}

/** The permissions that a waiting version requests. */
export const requestedText = ({ id, version, waiting }: PluginEntity): string =>
  waiting === null
    ? ""
    : `${id} ${waiting.version} requests${version === null ? "" : " these additional permissions"}:\n${list(waiting.widens)}`;

const list = (all: readonly string[]): string =>
  all.length === 0 ? "  nothing\n" : all.map((line) => `  ${singleLine(line)}\n`).join("");

export const healthLine = ({ id, version, state, tier, crashes, memory_bytes }: PluginEntity): string =>
  `${id} ${version ?? "(not approved)"}: ${state}, ${tier}${memory_bytes === null ? "" : `, ${Math.round(memory_bytes / 1024 / 1024)} MiB`}${crashes > 0 ? `, ${crashes} crashes` : ""}\n`;

/** Problems of a plugin that an operator should fix. `hasAccount`: an integration contains the settings of its source. */
export function pluginProblems(plugin: PluginEntity, hasAccount: boolean): string[] {
  const { id, state, code, reason, tier } = plugin;
  return [
    ...(code === null ? [] : [`${id}: ${code}: ${singleLine(reason ?? "")}`]),
    ...(state === "quarantined" ? [`${id} is quarantined; once the cause is fixed: signalbox plugin enable ${id}`] : []),
    ...(tier === "in_process" ? [`${id} runs in the service's own process with all of its permissions`] : []),
    ...stepsFor(plugin, hasAccount),
  ];
}

/**
 * The steps that remain for an operator before a plugin can work. A stored account contains the settings of its source, but not
 * those of the plugin itself.
 */
export function stepsFor({ id, settings, waiting }: Pick<PluginEntity, "id" | "settings" | "waiting">, hasAccount: boolean) {
  const missing = settings
    .filter(({ required, set, of_account }) => required && !set && !(of_account && hasAccount))
    .map(({ name }) => name);
  const settingsText = missing.map((name) => `"${name}": "..."`).join(", ");
  const configure = `signalbox plugin configure ${id} --settings '{${settingsText}}'`;
  return [
    ...(missing.length > 0 ? [`${id} is missing the settings ${missing.join(", ")}: ${configure}`] : []),
    ...(waiting ? [`${id} ${waiting.version} waits for approval: signalbox plugin permissions ${id}`] : []),
  ];
}

/** Deferred webhooks that wait for a plugin, whether or not it is installed. */
export const waitingLine = ({
  plugin,
  slug,
  count,
  oldest_at,
}: {
  plugin: string;
  slug: string;
  count: number;
  oldest_at: string;
}): string =>
  `${plugin}: ${count === 1 ? "1 webhook waits" : `${count} webhooks wait`} for it at /webhook/${slug}, the oldest since ${oldest_at}`;

type Layers = readonly { readonly layer: string; readonly active: boolean; readonly reason: string | null }[];

/** The isolation layers of plugins on the replica that answered. */
export const isolationText = (layers: Layers): string => {
  const [first, ...others] = layers;
  // Without Deno, for example.
  if (first && others.every(({ reason }) => reason !== null && reason === first.reason))
    return `isolation: none (${first.reason})\n`;
  return `isolation: ${layers.map(({ layer, active, reason }) => (active ? layer : `no ${layer} (${reason})`)).join(", ")}\n`;
};

export const missingLayers = (layers: Layers): string[] =>
  layers
    .filter(({ active }) => !active)
    .map(({ layer, reason }) => `PLUGIN_WALLS requires the isolation layer ${layer}: ${reason}`);
