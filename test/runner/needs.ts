import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { runtimeUnderTest } from "../harness/process.ts";

/**
 * Software that some tests need in addition to Node and npm. Its name is the tag of those tests: `test(name, { tags: ["postgres"]
 * }, …)`.
 */
interface Need {
  readonly name: string;
  /** What is missing, and how to install it. */
  readonly missing: string;
  readonly found: boolean;
}

declare module "vitest" {
  interface TestTags {
    tags:
      | "postgres"
      | "redis"
      | "redis-server"
      | "python"
      | "openssl"
      | "curl"
      | "contracts"
      | "chromium"
      | "payloads"
      | "pgbouncer"
      | "nats-server"
      | "rabbitmq-server"
      | "bubblewrap"
      | "helm"
      | "pg_dump"
      | "node";
  }
  interface ProvidedContext {
    /** A Python with grpcio and protobuf; empty if there is none. */
    python: string;
    /** The command that starts a Redis; empty if there is none. */
    redisServer: readonly string[];
    /** A chromium that can be started; empty if there is none. */
    chromium: string;
    /** A PgBouncer that can be started; empty if there is none. */
    pgbouncer: string;
    /** A nats-server that can be started; empty if there is none. */
    natsServer: string;
    /** A rabbitmq-server that can be started; empty if there is none. */
    rabbitmqServer: string;
    /** A helm; empty if there is none. */
    helm: string;
    /**
     * The command of a pg_dump that can read the PostgreSQL of the tests; its pg_restore is next to it. Empty if there is none.
     */
    pgDump: readonly string[];
  }
}

const root = join(import.meta.dirname, "../..");

/** The first command that runs. */
function working(commands: readonly (readonly string[])[], args: readonly string[]): readonly string[] {
  for (const [program = "", ...before] of commands) {
    try {
      execFileSync(program, [...before, ...args], { stdio: "ignore", timeout: 20_000 });
      return [program, ...before];
    } catch {}
  }
  return [];
}

/** For a program that has no argument with which it starts and ends at once. */
function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Debian's Python first, because its packages do not depend on a Python that the user installed. `import grpc` alone would succeed with
 * an empty folder of this name.
 */
export const python =
  working([["/usr/bin/python3"], ["python3"]], ["-c", "from grpc import StatusCode; import google.protobuf"])[0] ?? "";

export const chromium =
  working([["/usr/bin/chromium"], ["chromium"], ["chromium-browser"], ["google-chrome"]], ["--version"])[0] ?? "";

/** Debian installs it in a folder that only root's PATH contains. */
export const pgbouncer = working([["/usr/sbin/pgbouncer"], ["pgbouncer"]], ["--version"])[0] ?? "";

export const natsServer = working([["/usr/sbin/nats-server"], ["nats-server"]], ["--version"])[0] ?? "";

/** Not Debian's command, which switches to another user. */
export const rabbitmqServer = ["/usr/lib/rabbitmq/bin/rabbitmq-server"].find(isExecutable) ?? "";

/** The path where `.ci/helm.sh` installs one, or any other. */
export const helm = working([[join(root, "node_modules/.cache/helm/helm/helm")], ["helm"]], ["version"])[0] ?? "";

const { TEST_DATABASE_URL, TEST_REDIS_URL, TEST_REDIS_SERVER, TEST_PG_DUMP } = process.env;
/** An older one than the server refuses to read it. */
export const pgDump = TEST_DATABASE_URL
  ? working([TEST_PG_DUMP?.split(" ") ?? ["pg_dump"]], ["--schema-only", `--dbname=${TEST_DATABASE_URL}`])
  : [];
export const redisServer = working([TEST_REDIS_SERVER?.split(" ") ?? ["redis-server"]], ["--version"]);

const software: readonly Need[] = [
  {
    name: "postgres",
    missing: "no TEST_DATABASE_URL (set it to a PostgreSQL with pgvector, for tests only)",
    found: Boolean(TEST_DATABASE_URL),
  },
  { name: "redis", missing: "no TEST_REDIS_URL (set it to a Redis, for tests only)", found: Boolean(TEST_REDIS_URL) },
  {
    name: "redis-server",
    missing: "no redis-server (install it, or set TEST_REDIS_SERVER to the command that starts one)",
    found: redisServer.length > 0,
  },
  { name: "python", missing: "no python3 with grpcio (install python3-grpcio and python3-protobuf)", found: python !== "" },
  { name: "chromium", missing: "no chromium (install chromium)", found: chromium !== "" },
  { name: "pgbouncer", missing: "no pgbouncer (install pgbouncer)", found: pgbouncer !== "" },
  { name: "nats-server", missing: "no nats-server (install nats-server)", found: natsServer !== "" },
  { name: "rabbitmq-server", missing: "no rabbitmq-server (install rabbitmq-server)", found: rabbitmqServer !== "" },
  { name: "helm", missing: "no helm (run .ci/helm.sh, or install helm)", found: helm !== "" },
  {
    name: "pg_dump",
    missing: "no pg_dump as new as the PostgreSQL (install its client, or set TEST_PG_DUMP to the command)",
    found: pgDump.length > 0,
  },
  {
    name: "bubblewrap",
    missing: "no bubblewrap that may make namespaces, or no git (install both)",
    found: [working([["bwrap"]], ["--ro-bind", "/", "/", "true"]), working([["git"]], ["--version"])].every(
      (one) => one.length > 0,
    ),
  },
  { name: "curl", missing: "no curl (install curl)", found: working([["curl"]], ["--version"]).length > 0 },
  { name: "openssl", missing: "no openssl (install openssl)", found: working([["openssl"]], ["version"]).length > 0 },
  {
    name: "contracts",
    missing: "no API descriptions of the platforms (put alpha, gamma and delta.openapi.json into ../shared/contracts)",
    found: ["alpha", "gamma", "delta"].every((name) => existsSync(join(root, `../shared/contracts/${name}.openapi.json`))),
  },
  {
    name: "payloads",
    missing: "no recorded payloads (put them into ../shared/payloads, a folder for each source)",
    found: ["alpha", "beta", "gamma", "delta"].every((name) => existsSync(join(root, `../shared/payloads/${name}`))),
  },
];

/** The software, and `node`, the tag of tests that the service passes on Node only. */
export const needs: readonly Need[] = [
  ...software,
  { name: "node", missing: "only on Node (TEST_RUNTIME is deno)", found: runtimeUnderTest() === "node" },
];

/** With REQUIRE_SERVICES=1, no test may be skipped: throws if any software is missing. */
export function requireAll(): void {
  const missing = software.filter(({ found }) => !found).map((need) => `- ${need.missing}`);
  if (process.env.REQUIRE_SERVICES !== "1" || missing.length === 0) return;
  throw new Error(`REQUIRE_SERVICES=1, but some tests would be skipped:\n${missing.join("\n")}`);
}
