import { X509Certificate } from "node:crypto";
import { readFile, statfs } from "node:fs/promises";
import type { Part } from "../health/operations.ts";
import { type RefusedSummary, refusedSummaries } from "../message-queues/refused-queries.ts";
import { clockError } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import type { StorageFailure } from "../platform/database/storage-failure.ts";
import { causeOf } from "../platform/error-text.ts";
import { differences } from "../platform/fingerprints.ts";
import type { Vault } from "../platform/vault.ts";
import type { PluginManager } from "../plugins/plugin-manager.ts";
import { listStoredSecrets } from "../stored-secrets/queries.ts";
import type { Finding, Probe } from "./board.ts";
import { agentsWithShortSecrets, countWorkers, listReplicaSettings, listReplicas } from "./queries.ts";

const everyMs = 10_000;

/** How long a database counts as full after it could not store data, in milliseconds. */
const fullMs = 60_000;

/** Why the database or Redis cannot store data, and what to do; `null` while it can. */
export function fullness(
  last: (Pick<StorageFailure, "at" | "reason"> & Partial<StorageFailure>) | null,
  cureOf: (failure: string) => string = () => "",
): string | null {
  if (!last || performance.now() - last.at > fullMs) return null;
  const cure = last.isDisk ? ". Free disk space, for example by shortening the RETENTION_… periods" : cureOf(last.reason);
  return `it cannot store data (${last.reason})${cure}. Work resumes automatically once it can`;
}

interface PartOptions {
  /** Why the part cannot store data. */
  readonly full?: () => string | null;
  /** A limitation of a part that responds, and what to do. */
  readonly limitation?: string | null;
  /** What to do about a failure, after its message. */
  readonly cure?: (failure: string) => string;
}

/** Whether a part that the service needs responds. */
export const partProbe = ({ name, probe }: Part, host: string, options: PartOptions = {}): Probe => ({
  name,
  everyMs: 5_000,
  asks: true,
  run: async () => {
    const { full, limitation, cure } = options;
    const startedAt = performance.now();
    const failure = await probe().then(
      () => null,
      (error: unknown) => causeOf(error),
    );
    if (failure !== null) {
      const remedy = cure?.(failure) ?? "";
      return [{ name, state: "failed", message: `${host}: ${remedy ? failure.replace(/\.$/, remedy) : failure}` }];
    }
    const problem = full?.() ?? null;
    if (problem !== null) return [{ name, state: "failed", message: `${host}: ${problem}` }];
    const answer = `${host} answers in ${Math.ceil(performance.now() - startedAt)} ms`;
    return [
      limitation ? { name, state: "degraded", message: `${answer}, but ${limitation}` } : { name, state: "ok", message: answer },
    ];
  },
});

/** Whether any replica runs executions; for a replica that does not itself. */
export const workersProbe = (sql: Sql): Probe => ({
  name: "workers",
  everyMs,
  run: async () => {
    const workerCount = await countWorkers(sql);
    if (workerCount === 0)
      return [
        { name: "workers", state: "failed", message: "no replica runs executions: start one with SIGNALBOX_ROLE=worker or all" },
      ];
    return [{ name: "workers", state: "ok", message: `replicas that run executions: ${workerCount}` }];
  },
});

/** Replicas that are frozen, were killed or are cut off from the database; no check if there are none. */
export const replicasProbe = (sql: Sql, silentSeconds: number): Probe => ({
  name: "replicas",
  everyMs,
  run: async () => {
    const replicas = await listReplicas(sql, null, silentSeconds);
    const silent = replicas.flatMap((one) => (one.silent_seconds === null ? [] : [`${nameOf(one)} for ${one.silent_seconds} s`]));
    if (silent.length === 0) return [];
    const message = `replicas have sent no heartbeat and have not stopped: ${firstOf(silent)}. If one is frozen, restart it; one that was killed disappears after ${silentSeconds} s`;
    return [{ name: "replicas", state: "degraded", message }];
  },
});

/** Differences up to this many milliseconds between the clocks of a replica and the database have no noticeable effect. */
const maxClockErrorMs = 10_000;

/** Whether this replica's clock agrees with the database's; no check if it does. */
export const clockProbe = (): Probe => ({
  name: "clock",
  everyMs: 2_000,
  run: async () => {
    const error = clockError();
    if (Math.abs(error) <= maxClockErrorMs) return [];
    const difference = `${Math.round(Math.abs(error) / 1000)} s ${error > 0 ? "ahead of" : "behind"}`;
    const effect = "webhooks with a signed time can be refused, and the times in the log are wrong";
    const message = `the clock of this replica is ${difference} the database's: ${effect}. Set the clock, for example with NTP`;
    return [{ name: "clock", state: "degraded", message }];
  },
});

/** Whether all replicas have the same settings; no check if they do. */
export const settingsProbe = (sql: Sql): Probe => ({
  name: "settings",
  everyMs,
  run: async () => {
    const replicas = await listReplicaSettings(sql);
    const names = differences(replicas.map(({ settings }) => settings));
    const [newest] = replicas;
    if (names.length === 0 || !newest) return [];
    const others = replicas.filter(({ settings }) => differences([newest.settings, settings]).length > 0);
    const compared = `${firstOf(others.map(nameOf))} differ from ${nameOf(newest)}, which started last`;
    const message = `replicas have different values of ${firstOf(names)}: ${compared}. Restart the replicas that have old values`;
    return [{ name: "settings", state: "degraded", message }];
  },
});

/** Several replicas can have the same host. */
const nameOf = ({ host, started_at }: { host: string; started_at: string }): string => `${host} (started at ${started_at})`;

const firstOf = (names: readonly string[]): string =>
  `${names.slice(0, 10).join(", ")}${names.length > 10 ? ` and ${names.length - 10} others` : ""}`;

export const credentialsProbe = (sql: Sql, vault: Vault): Probe => ({
  name: "credentials",
  everyMs: 60_000,
  run: async () => {
    const failures: string[] = [];
    for (const { kind, name, ciphertext, purpose } of await listStoredSecrets(sql))
      await vault.open(ciphertext, purpose).catch((error) => failures.push(`${kind} ${name}: ${causeOf(error)}`));
    if (failures.length === 0) return [{ name: "credentials", state: "ok", message: "all stored credentials can be decrypted" }];
    const message = `${failures.length} cannot be decrypted: ${failures.slice(0, 3).join("; ")}`;
    return [{ name: "credentials", state: "failed", message }];
  },
});

export const agentSecretsProbe = (sql: Sql): Probe => ({
  name: "agent_secrets",
  everyMs,
  run: async () => {
    const short = await agentsWithShortSecrets(sql);
    if (short.length === 0) return [{ name: "agent_secrets", state: "ok", message: "no agent has a short secret" }];
    const message = `secrets of fewer than 16 characters can be guessed: ${short.join(", ")}`;
    return [{ name: "agent_secrets", state: "degraded", message }];
  },
});

/** Third-party plugins, running and refused. */
export const pluginProbe = (manager: Pick<PluginManager, "all" | "refused">): Probe => ({
  name: "plugins",
  everyMs: 2_000,
  run: async () => [
    ...manager.all().map(({ manifest, process }): Finding => {
      const name = `plugin:${manifest.id}`;
      const status = process?.status();
      if (!status || status.state === "ready") return { name, state: "ok", message: `${manifest.version} is running` };
      const detail = status.reason ?? `its process exited ${status.crashes} times`;
      const enable = status.state === "quarantined" ? `, and then signalbox plugin enable ${manifest.id}` : "";
      const message = `${status.state}: ${detail}; see signalbox plugin logs ${manifest.id}${enable}`;
      return { name, state: status.state === "degraded" ? "degraded" : "failed", message };
    }),
    ...[...manager.refused].map(
      ([id, { reason }]): Finding => ({ name: `plugin:${id}`, state: "failed", message: `not loaded: ${reason}` }),
    ),
  ],
});

/** The message queues of plugins, as this replica last used them, and the messages that they refused. */
export const queuesProbe = (sql: Sql, queues: ReadonlyMap<string, unknown>, failuresOf: (name: string) => string[]): Probe => ({
  name: "queues",
  everyMs: 2_000,
  run: async () => {
    if (queues.size === 0) return [];
    // Without the database, the failures of the queues say so.
    const summaries = await refusedSummaries(sql).catch((): RefusedSummary[] => []);
    const refused = new Map(summaries.map((summary) => [summary.queue, summary]));
    return [...queues.keys()].map((queue): Finding => {
      const [name, failures, summary] = [`queue:${queue}`, failuresOf(queue), refused.get(queue)];
      const aside = summary === undefined ? [] : [refusedText(summary)];
      if (failures.length > 0) return { name, state: "failed", message: [...failures, ...aside].join(". Also, ") };
      if (summary === undefined) return { name, state: "ok", message: "no message waits because of an error" };
      return { name, state: "degraded", message: aside.join(), next_try_at: summary.next_try_at };
    });
  },
});

const refusedText = ({ count, reason }: RefusedSummary): string => {
  const [messages, are] = count === 1 ? ["1 message", "is"] : [`${count} messages`, "are"];
  return `the queue refused ${messages}, which ${are} published again later: ${reason.replace(/\.$/, "")}`;
};

/** How long before its end a certificate should be renewed, in milliseconds. */
const renewalMs = 14 * 86_400_000;

/** When the certificate of the gRPC port expires. `path`: its file, which the service reads once, when it starts. */
export function certificateProbe(path: string): Probe {
  const name = "grpc_certificate";
  let end: string | null = null;
  return {
    name,
    everyMs,
    run: async () => {
      end ??= new Date(new X509Certificate(await readFile(path)).validTo).toISOString();
      const leftMs = Date.parse(end) - Date.now();
      if (leftMs > renewalMs) return [{ name, state: "ok", message: `the certificate of the gRPC port expires at ${end}` }];
      const cure = `renew GRPC_TLS_CERT (${path}), and then restart the service`;
      if (leftMs > 0)
        return [{ name, state: "degraded", message: `the certificate of the gRPC port expires at ${end}; ${cure}` }];
      const message = `the certificate of the gRPC port expired at ${end}, so agents cannot connect; ${cure}`;
      return [{ name, state: "failed", message }];
    },
  };
}

/** Free disk space for the embedded database. */
export const diskProbe = (folder: string): Probe => ({
  name: "disk",
  everyMs,
  run: async () => {
    const { bavail, bsize, blocks } = await statfs(folder);
    const free = bavail * bsize;
    const gib = (free / 2 ** 30).toFixed(1);
    const state = free < 256 * 2 ** 20 ? "failed" : free < 2 ** 30 || bavail / blocks < 0.05 ? "degraded" : "ok";
    const cure =
      state === "ok"
        ? ""
        : "; free some space, because a full disk stops the service. To see what uses it, run: signalbox storage";
    const message = `${gib} GiB free of ${((blocks * bsize) / 2 ** 30).toFixed(1)} GiB at ${folder}${cure}`;
    return [{ name: "disk", state, message }];
  },
});

export const retentionProbe = (last: () => { readonly at: string; readonly error: string | null } | null): Probe => ({
  name: "retention",
  everyMs: 2_000,
  run: async () => {
    const pass = last();
    if (!pass) return [{ name: "retention", state: "ok", message: "retention has not run on this replica yet" }];
    if (pass.error === null) return [{ name: "retention", state: "ok", message: `the last run finished at ${pass.at}` }];
    const next_try_at = new Date(Date.parse(pass.at) + 3_600_000).toISOString();
    return [{ name: "retention", state: "degraded", message: pass.error, next_try_at }];
  },
});
