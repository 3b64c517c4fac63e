import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import * as plugins from "@signalbox/schema/plugins";
import { sha256Of } from "../../platform/digest.ts";
import type { Call } from "../request.ts";
import type { PluginBuild } from "./build.ts";
import { bundle } from "./bundle.ts";
import { filePublisher } from "./fetch-package.ts";
import { requestedText } from "./messages.ts";
import type { PluginEntity } from "./operator-context.ts";
import { readPackage } from "./package-file.ts";

/** A running Signalbox in which each build is installed. */
export interface DevService {
  readonly url: string;
  /** Approves the permissions that a version requests immediately. */
  readonly approves: boolean;
  readonly call: Call;
}
export interface DevInstall {
  readonly pluginBuild: PluginBuild;
  readonly folder: string;
  readonly service: DevService;
  readonly out: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Maximum time until a version is running, in milliseconds. */
const startMs = 15_000;

/**
 * For example `0.1.0-dev.1767225600000` or `1.0.0-rc.1.dev.…`. Every save creates a version, because the bytes of a version never
 * change.
 */
export const devVersion = (version: string, now: number): string => {
  const [bare = ""] = version.split("+");
  return `${bare}${bare.includes("-") ? "." : "-"}dev.${now}`;
};

/**
 * Installs a build as a new version, and prints whether it is running, waits for approval or failed. Returns whether it is
 * running.
 */
export async function installDevVersion({ pluginBuild, folder, service, out, signal }: DevInstall): Promise<boolean> {
  const version = devVersion(pluginBuild.manifest.version, Date.now());
  const code = await bundle(folder, readPackage(folder).source, { version });
  const sha256 = sha256Of(code);
  const { id } = pluginBuild.manifest;
  const plugin = await service.call<PluginEntity>(plugins.install, {
    manifest: { ...pluginBuild.manifest, version, bundle: { sha256, bytes: code.byteLength } },
    bundle: gzipSync(code).toString("base64"),
    origin: `plugin dev in ${basename(folder)}`,
    publisher: filePublisher(readPackage(folder).name),
  });
  if (plugin.waiting?.version === version) {
    out(requestedText(plugin));
    if (!service.approves) {
      out(`Waiting for approval: signalbox plugin approve ${id}   (--approve approves every save)\n`);
      return false;
    }
    await service.call(plugins.approve, { id, version });
  }
  const deadline = Date.now() + startMs;
  for (;;) {
    const { sha256: serving, state, code: fault, reason } = await service.call<PluginEntity>(plugins.get, { id });
    if (serving === sha256 && (state === "ready" || state === "degraded")) {
      out(`${service.url}: ${id} ${version} serves\n`);
      return true;
    }
    if (serving === sha256 && fault !== null) {
      out(`${service.url}: ${id} ${version} is ${state}: ${fault}: ${reason}\n`);
      return false;
    }
    if (state === "approved") {
      out(`${service.url}: ${id} is not enabled: signalbox plugin enable ${id}\n`);
      return false;
    }
    if (signal.aborted || Date.now() > deadline) {
      if (!signal.aborted) out(`${service.url}: ${id} ${version} does not serve yet; it is ${state}\n`);
      return false;
    }
    await sleep(100);
  }
}
