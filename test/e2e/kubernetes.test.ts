import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { kustomize } from "./support/kubectl.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ namespace: z.string().optional() }),
});
type Manifest = z.infer<typeof manifestSchema>;

async function build(name: string): Promise<readonly Manifest[]> {
  const text = await kustomize(join(root, "config/kubernetes", name));
  return parseAllDocuments(text).map((document) => manifestSchema.parse(document.toJS()));
}

/** Where the types of the API are. They are made of its OpenAPI description. */
function typeOf({ apiVersion, kind }: Manifest): string {
  const models = apiVersion.startsWith("monitoring.coreos.com/")
    ? "@kubernetes-models/prometheus-operator"
    : "kubernetes-models";
  return `import("${models}/${apiVersion}/${kind}").I${kind}`;
}

/**
 * TypeScript refuses fields that a literal's type does not have, at any depth, and values of another type.
 *
 * @returns the faults of each manifest
 */
async function faultsOf(manifests: readonly Manifest[]): Promise<readonly (readonly string[])[]> {
  // Within the checkout, so that the packages are found.
  mkdirSync(join(root, ".vitest"), { recursive: true });
  const folder = mkdtempSync(join(root, ".vitest/manifests-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lines = manifests.map(
    (each, index) => `export const m${index}: ${typeOf(each)} = ${JSON.stringify(each)};`,
  );
  writeFileSync(join(folder, "manifests.ts"), lines.join("\n"));
  const compilerOptions = { module: "nodenext", strict: true, noEmit: true, types: [] };
  const settings = { compilerOptions, files: ["manifests.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const tsc = join(root, "node_modules/.bin/tsc");
  const { stdout = "" } = await run(tsc, ["-p", folder, "--pretty", "false"], {
    maxBuffer: 2 ** 26,
  }).catch((error: { stdout?: string }) => error);
  const faults = manifests.map((): string[] => []);
  for (const [, line, fault = ""] of stdout.matchAll(/manifests\.ts\((\d+),\d+\): (.*)$/gm)) {
    faults[Number(line) - 1]?.push(fault);
  }
  return faults;
}

it("kustomize builds standby of fields that the API has; a misspelt one would be refused", async () => {
  const manifests = await build("standby");
  expect((await faultsOf(manifests)).flat()).toEqual([]);
  const misspelt = manifests.map((each) => ({ ...each, spec: { misspelt: "x" } }));
  expect((await faultsOf(misspelt)).every((faults) => faults.length > 0)).toBe(true);
});

it.each(["example", "standby"])("kustomize builds %s, all of it in its namespace", async (name) => {
  const manifests = await build(name);
  const elsewhere = manifests
    .filter(({ metadata }) => metadata.namespace !== "sandwatch")
    .map(({ kind }) => kind);
  expect(elsewhere).toEqual(["Namespace"]);
  const text = manifests.map((manifest) => JSON.stringify(manifest)).join("\n");
  const dashboards = Array.from(text.matchAll(/"name":"(sandwatch-dashboard-\w+)"/g));
  expect(dashboards.length).toBe(3);
  expect(text.match(/"grafana_dashboard":"1"/g)?.length).toBe(dashboards.length);
  // The generated names have been put where they are used.
  const names = Array.from(text.matchAll(/"name":"(sandwatch-(?:config|secrets)-\w+)"/g));
  expect(names.length).toBe(4);
  const [, count] = /"replicas":(\d+)/.exec(text) ?? [];
  expect(count).toBe(name === "standby" ? "2" : "1");
});
