import { recordDecision } from "../audit/record-decision.ts";
import { openOutbox as open } from "../outbox/open.ts";
import {
  addressSecrets,
  configSecrets,
  connectionSecrets,
  secretsFinder,
  settingSecrets,
  storedSecrets,
} from "../outbox/secrets.ts";
import { openStoredSecrets } from "../stored-secrets/stored-secrets.ts";
import type { Core } from "./core.ts";
import type { Plugins } from "./plugins.ts";

/** The outbox, which checks everything that agents write. */
export async function openOutbox(
  { config, sql, bus, log, vault, policies, alarm, shutdown }: Core,
  { connections, host }: Plugins,
) {
  const ofConfig = configSecrets(config);
  const secretList = await openStoredSecrets({ sql, bus, log, vault });
  shutdown.add(() => secretList.close());
  const settings = () => pluginsOf(host).map((plugin) => connections.pluginSettings(plugin));
  const secrets = secretsFinder(
    () => [secretList.all(), secretList.addresses(), ...connections.everyAccount(), ...settings()],
    () => [
      ...ofConfig,
      ...connectionSecrets(connections.everyAccount()),
      ...pluginsOf(host).flatMap((plugin) => settingSecrets(plugin, connections.pluginSettings(plugin))),
      ...storedSecrets(secretList.all()),
      ...addressSecrets(secretList.addresses()),
    ],
  );
  return open({
    sql,
    policies,
    alarm,
    secrets,
    footer: { enabled: config.COMMENT_FOOTER, publicUrl: config.PUBLIC_URL?.replace(/\/+$/, "") ?? null },
    recordRefusal: ({ execution, agent, tool, reason }) =>
      recordDecision(sql, {
        actor: agent === null ? "signalbox" : `agent:${agent}`,
        operation: "tools.refused",
        executionId: execution,
        subject: tool,
        reason,
      }).catch((error) =>
        alarm("failed to record a refused call in the audit log", { execution_id: execution, error: String(error) }),
      ),
  });
}

/** Ids of the plugins that have tools or sources. */
const pluginsOf = ({ tools, sources }: Plugins["host"]): string[] => [
  ...new Set([...[...tools.values()].map(({ provider }) => provider), ...[...sources.values()].map(({ plugin }) => plugin)]),
];
