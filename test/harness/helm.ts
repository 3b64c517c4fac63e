import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { root } from "./process.ts";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: manifests of any kind
  readonly spec: any;
}

/** The output of `helm template` for a chart with these values. Throws helm's error. */
export function renderChart(helm: string, folder: string, values: object): Manifest[] {
  const options = { input: JSON.stringify(values), encoding: "utf8", stdio: "pipe" } as const;
  const text = execFileSync(helm, ["template", "signalbox", folder, "--values", "-"], options);
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(`${document.errors[0]?.message}\n${text}`);
    return (document.toJS() as Manifest | null) ?? [];
  });
}

const modules: Readonly<Record<string, string>> = {
  "v1 Service": "core/v1",
  "apps/v1 Deployment": "apps/v1",
  "autoscaling/v2 HorizontalPodAutoscaler": "autoscaling/v2",
  "networking.k8s.io/v1 Ingress": "networking/v1",
  "networking.k8s.io/v1 NetworkPolicy": "networking/v1",
  "policy/v1 PodDisruptionBudget": "policy/v1",
};

/**
 * The errors in manifests according to the types of the Kubernetes API: members that are unknown, missing or of a wrong type. The
 * compiler finds unknown members only in literals, so the manifests are compiled as literals.
 */
export function typeErrors(manifests: readonly Manifest[]): string {
  // In the repository, so that the types are found.
  const folder = mkdtempSync(join(root, "node_modules/.cache/manifests-"));
  const file = join(folder, "manifests.ts");
  const statements = manifests.map((manifest, at) => {
    const { apiVersion, kind } = manifest;
    const types = modules[`${apiVersion} ${kind}`];
    if (!types) throw new Error(`add the module of kubernetes-types that declares ${apiVersion} ${kind}`);
    return `import type { ${kind} as Kind${at} } from "kubernetes-types/${types}";
export const manifest${at}: Kind${at} = ${JSON.stringify(manifest, null, 1)};`;
  });
  writeFileSync(file, statements.join("\n"));
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const flags = "--ignoreConfig --noEmit --strict --skipLibCheck --types  --module preserve".split(" ");
  try {
    execFileSync(process.execPath, [compiler, ...flags, file], { encoding: "utf8", stdio: "pipe", cwd: folder });
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
