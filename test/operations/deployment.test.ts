import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { type Manifest, renderChart, typeErrors } from "../harness/helm.ts";
import { root } from "../harness/process.ts";

interface ComposeService {
  readonly environment?: Record<string, string>;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly healthcheck?: object;
  readonly [member: string]: unknown;
}
interface Compose {
  readonly services: Record<string, ComposeService>;
  readonly networks: Record<string, { internal?: boolean } | null>;
}

/**
 * Replaces variables like Compose: `${NAME}`, `${NAME:-other}`, `${NAME:?message}`, nested. Throws the message of a missing one.
 */
function interpolate(text: string, given: Readonly<Record<string, string>>): string {
  const inner = /\$\{(\w+)(?::([-?])([^${}]*))?\}/;
  for (let match = inner.exec(text); match; match = inner.exec(text)) {
    const [all, name = "", sign, rest = ""] = match;
    if (!given[name] && sign === "?") throw new Error(`${name}: ${rest}`);
    text = text.replace(all, () => given[name] || (sign === "-" ? rest : ""));
  }
  return text;
}
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const composed = (given: Record<string, string>) =>
  JSON.parse(JSON.stringify(parse(read("compose.yaml"), { merge: true })), (_, value) =>
    typeof value === "string" ? interpolate(value, given) : value,
  ) as Compose;

describe("compose.yaml", () => {
  const key = "5".repeat(64);

  test("requires one key, and names it", () => {
    expect(() => composed({})).toThrow("INSTALLATION_KEY: set it in .env to the output of openssl rand -hex 32");
  });
  test("with that key the API is closed, credentials are encrypted, and the database has a password", () => {
    const { services } = composed({ INSTALLATION_KEY: key });
    expect(services.signalbox?.environment).toMatchObject({
      API_KEYS: key,
      ENCRYPTION_KEY: key,
      DATABASE_URL: `postgres://signalbox:${key}@postgres:5432/signalbox`,
    });
    expect(services.postgres?.environment?.POSTGRES_PASSWORD).toBe(key);
  });
  test("each of the three can have a key of its own", () => {
    const own = { POSTGRES_PASSWORD: "p".repeat(32), API_KEYS: "a".repeat(32), ENCRYPTION_KEY: "7".repeat(64) };
    const { services } = composed({ INSTALLATION_KEY: key, ...own });
    expect(JSON.stringify(services)).not.toContain(key);
    expect(services.signalbox?.environment).toMatchObject({ API_KEYS: own.API_KEYS, ENCRYPTION_KEY: own.ENCRYPTION_KEY });
  });
  test("every container has no capabilities but those that it names, a read-only disk, and limits", () => {
    for (const service of Object.values(composed({ INSTALLATION_KEY: key }).services))
      expect(service).toMatchObject({
        cap_drop: ["ALL"],
        read_only: true,
        security_opt: ["no-new-privileges:true"],
        mem_limit: expect.any(String),
        pids_limit: expect.any(Number),
        cpus: expect.any(Number),
      });
  });
  test("only the service is published, on this machine; the databases have no outside network", () => {
    const { services, networks } = composed({ INSTALLATION_KEY: key });
    for (const [name, { ports = [], networks: joined = [] }] of Object.entries(services)) {
      if (name !== "signalbox") expect([name, ports, joined]).toEqual([name, [], ["data"]]);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
    expect(networks.data).toEqual({ internal: true });
  });
});

const rendered = (values: object = {}) => renderChart(inject("helm"), join(root, "examples/deploy/helm"), values);
const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();

describe("the Helm chart", { tags: ["helm"] }, () => {
  const split = { split: true, worker: { autoscaling: { enabled: true } }, ingress: { enabled: true, tlsSecret: "tls" } };

  test("by default: replicas with all roles, with a disruption budget and a network policy", () => {
    const names = [
      "Deployment signalbox-all",
      "NetworkPolicy signalbox",
      "PodDisruptionBudget signalbox-all",
      "Service signalbox",
    ];
    expect(kinds(rendered())).toEqual(names);
  });
  test("split: separate replicas for requests and executions, workers scaled by queued executions", () => {
    const manifests = rendered(split);
    expect(kinds(manifests)).toEqual([
      "Deployment signalbox-api",
      "Deployment signalbox-worker",
      "HorizontalPodAutoscaler signalbox-worker",
      "Ingress signalbox",
      "NetworkPolicy signalbox",
      "PodDisruptionBudget signalbox-api",
      "PodDisruptionBudget signalbox-worker",
      "Service signalbox",
    ]);
    const of = (kind: string, name: string) => manifests.find((one) => one.kind === kind && one.metadata.name === name)?.spec;
    expect(of("Deployment", "signalbox-worker").replicas).toBeUndefined();
    expect(of("Deployment", "signalbox-api").replicas).toBe(2);
    const metric = { name: "signalbox_executions", selector: { matchLabels: { state: "queued" } } };
    expect(of("HorizontalPodAutoscaler", "signalbox-worker").metrics[0].external).toEqual({
      metric,
      target: { type: "AverageValue", averageValue: "20" },
    });
    expect(of("Service", "signalbox").selector["app.kubernetes.io/component"]).toBe("api");
  });
  test("the metric of the autoscaler is one that the service has", () => {
    expect(read("examples/deploy/dashboard.json")).toContain("signalbox_executions");
  });
  test.each([{}, split])("selectors meet the pods, probes meet the ports, nothing may gain rights (%j)", (values) => {
    const manifests = rendered(values);
    const deployments = manifests.filter(({ kind }) => kind === "Deployment");
    for (const { spec } of deployments) {
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      const [container] = spec.template.spec.containers;
      const ports = container.ports.map(({ name }: { name: string }) => name);
      for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe])
        expect(ports).toContain((probe.httpGet ?? probe.tcpSocket).port);
      expect(spec.template.spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(container.envFrom).toEqual([{ secretRef: { name: "signalbox" } }]);
      // Requests are served until the nodes know that the pod ends; then a stop lets writes finish.
      const [, waitSeconds = 0] = container.lifecycle?.preStop.exec.command ?? [];
      expect(waitSeconds > 0).toBe(spec.template.metadata.labels["app.kubernetes.io/component"] !== "worker");
      expect(spec.template.spec.terminationGracePeriodSeconds - waitSeconds).toBeGreaterThan(30);
      // A migration may take as long as its statements may, which is an hour.
      expect(container.startupProbe.periodSeconds * container.startupProbe.failureThreshold).toBeGreaterThanOrEqual(3600);
      // Kubernetes would add variables for services, such as REDIS_PORT.
      expect(spec.template.spec.enableServiceLinks).toBe(false);
    }
    for (const { spec } of manifests.filter(({ kind }) => kind === "PodDisruptionBudget"))
      expect(deployments.filter((one) => contains(one.spec.template.metadata.labels, spec.selector.matchLabels)).length).toBe(1);
  });
  test("whatever its values are, it makes valid objects of the Kubernetes API", () => {
    const networks = [
      { enabled: false },
      { from: [{ namespaceSelector: { matchLabels: { name: "ingress" } } }] },
      { egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ protocol: "TCP", port: 5432 }] }] },
    ];
    const annotations = { "cert-manager.io/cluster-issuer": "issuer" };
    const ingresses = [
      { enabled: true },
      { enabled: true, className: "nginx", host: "a.example", tlsSecret: "tls", annotations },
    ];
    const others = [
      {},
      { split: true, worker: { replicas: 3, autoscaling: { enabled: true, maxReplicas: 20, queuedPerReplica: 5 } } },
      { podDisruptionBudget: { minAvailable: "50%" }, resources: {}, image: { tag: "1.2.3", pullPolicy: "Always" } },
      { podDisruptionBudget: { minAvailable: 0 }, env: { LLM_BASE_URL: "http://llm/v1", WORKER_CONCURRENCY: 8 } },
      {
        imagePullSecrets: [{ name: "registry" }],
        nodeSelector: { disk: "ssd" },
        tolerations: [{ key: "reserved", operator: "Exists" }],
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      },
    ];
    const all = [false, true].flatMap((split) =>
      networks.flatMap((networkPolicy) =>
        ingresses.flatMap((ingress) => others.map((other) => ({ split, ...other, networkPolicy, ingress }))),
      ),
    );
    const manifests = [{}, ...all].flatMap((values) => rendered(values));
    expect(new Set(manifests.map(({ kind }) => kind)).size).toBe(6);
    expect(typeErrors(manifests)).toBe("");
    const [deployment] = manifests.filter(({ kind }) => kind === "Deployment");
    expect(typeErrors([{ ...(deployment as Manifest), spec: { replica: 2 } }])).toContain("'\"replica\"' does not exist");
  });
  test.each([
    [{ replicas: 3 }, "additional properties 'replicas' not allowed"],
    [{ api: { replicas: "two" } }, "got string, want integer"],
    [{ existingSecret: "" }, "minLength"],
    [{ worker: { autoscaling: { enabled: true } } }, "it needs split: true"],
    [{ split: true, worker: { replicas: 11, autoscaling: { enabled: true } } }, "maxReplicas must be at least worker.replicas"],
    [{ env: { PORT: 9000 } }, "PORT"],
  ])("values that it does not know or that do not go together are refused (%j)", (values, message) => {
    expect(() => rendered(values)).toThrow(message);
  });
  test("its settings are settings of the service, and none is a secret", () => {
    const known = read("schema/gen/configuration.md");
    const settings = settingsOf({ env: { LLM_BASE_URL: "http://llm/v1" } });
    for (const [name, value] of Object.entries(settings)) {
      expect(known).toContain(`\`${name}\``);
      if (value !== undefined) expect(name).not.toMatch(/KEY|TOKEN|SECRET|DATABASE_URL/);
    }
    // A pod without a database of the installation must not start: it would have one of its own.
    expect(settings).toMatchObject({ PORT: "8000", GRPC_PORT: "9090" });
    const [{ spec } = { spec: null }] = rendered().filter(({ kind }) => kind === "Deployment");
    expect(spec.template.spec.containers[0].env).toContainEqual({
      name: "DATABASE_URL",
      valueFrom: { secretKeyRef: { name: "signalbox", key: "DATABASE_URL" } },
    });
    expect(settingsOf({ env: { DATABASE_URL: "postgres://db/signalbox" } })).toMatchObject({
      DATABASE_URL: "postgres://db/signalbox",
    });
  });
  test("false and 0 are settings like others, and large numbers are whole numbers", () => {
    const env = {
      TRACKER_UPDATES_ENABLED: false,
      UPDATE_DEBOUNCE_SECONDS: 0,
      BUDGET_ISSUE_TOKENS_PER_DAY: 5_000_000,
      BUDGET_DAY_USD: 0.5,
      LOG_LEVEL: "debug",
      HOST: "::",
    };
    const texts = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
    expect(settingsOf({ env })).toMatchObject(texts);
  });
});

/** The settings of a replica by name; `undefined`: from a secret. */
function settingsOf(values: object): Record<string, string | undefined> {
  const env = rendered(values)
    .filter(({ kind }) => kind === "Deployment")
    .flatMap(({ spec }) => spec.template.spec.containers[0].env as { name: string; value?: string }[]);
  expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

const contains = (labels: Record<string, string>, wanted: Record<string, string>): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);
