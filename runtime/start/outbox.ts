import { recordDecision } from "../audit/record-decision.ts";
import { openOutbox as open } from "../outbox/open.ts";
import { configSecrets, connectionSecrets, secretsFinder, settingSecrets } from "../outbox/secrets.ts";
import type { Core } from "./core.ts";
import type { Plugins } from "./plugins.ts";

/** The way by which everything that agents write leaves the service. */
export function openOutbox({ config, sql, policies, alarm }: Core, { connections, host }: Plugins) {
  const ofConfig = configSecrets(config);
  const secrets = secretsFinder(() => [
    ...ofConfig,
    ...connectionSecrets(connections.everyAccount()),
    ...[...pluginsOf(host)].flatMap((plugin) => settingSecrets(plugin, connections.pluginSettings(plugin))),
  ]);
  return open({
    sql,
    policies,
    alarm,
    secrets,
    footer: { enabled: config.COMMENT_FOOTER, publicUrl: config.PUBLIC_URL?.replace(/\/+$/, "") ?? null },
    refused: ({ execution, agent, tool, reason }) =>
      recordDecision(sql, {
        actor: agent === null ? "signalbox" : `agent:${agent}`,
        operation: "tools.refused",
        executionId: execution,
        subject: tool,
        reason,
      }).catch((error) => alarm("failed to record a refused call in the audit log", { execution, error: String(error) })),
  });
}

const pluginsOf = ({ tools, sources }: Plugins["host"]): Set<string> =>
  new Set([...[...tools.values()].map(({ provider }) => provider), ...[...sources.values()].map(({ plugin }) => plugin)]);
