import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { Namespace } from "kubernetes-models/v1/Namespace";
import { Service } from "kubernetes-models/v1/Service";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../src/config/load-config.ts";
import { version } from "../../src/lib/version.ts";

const config = join(import.meta.dirname, "../../config");
const base = join(config, "kubernetes/base");
const example = join(config, "kubernetes/example");

const kustomization = z.looseObject({
  resources: z.array(z.string()).default([]),
  configMapGenerator: z
    .array(z.looseObject({ name: z.string(), files: z.array(z.string()) }))
    .default([]),
  secretGenerator: z
    .array(z.looseObject({ name: z.string(), envs: z.array(z.string()) }))
    .default([]),
  images: z.array(z.looseObject({ name: z.string(), newTag: z.string() })).default([]),
});

function readKustomization(folder: string): z.infer<typeof kustomization> {
  return kustomization.parse(parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")));
}

/** Each throws when a manifest of its kind, as JSON, is not of its published schema. */
const validators: Readonly<Record<string, (json: string) => void>> = {
  Namespace: (json) => new Namespace(JSON.parse(json)).validate(),
  Service: (json) => new Service(JSON.parse(json)).validate(),
  StatefulSet: (json) => new StatefulSet(JSON.parse(json)).validate(),
  NetworkPolicy: (json) => new NetworkPolicy(JSON.parse(json)).validate(),
  PrometheusRule: (json) => new PrometheusRule(JSON.parse(json)).validate(),
  ServiceMonitor: (json) => new ServiceMonitor(JSON.parse(json)).validate(),
};

function manifestsIn(folder: string): readonly (readonly [name: string, manifest: unknown])[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".yaml") && name !== "kustomization.yaml")
    .map((name) => [name, parse(readFileSync(join(folder, name), "utf8"))] as const)
    .filter(([, manifest]) => kindOf(manifest) !== undefined);
}

function kindOf(manifest: unknown): string | undefined {
  return z.looseObject({ kind: z.string() }).safeParse(manifest).data?.kind;
}

const manifests = [...manifestsIn(base), ...manifestsIn(example)];

function validate(manifest: unknown): void {
  const kind = kindOf(manifest) ?? "nothing";
  const validator = validators[kind];
  if (!validator) throw new TypeError(`no schema of ${kind}`);
  validator(JSON.stringify(manifest));
}

function accepts(manifest: unknown): boolean {
  try {
    validate(manifest);
    return true;
  } catch {
    return false;
  }
}

/** The paths of all that is neither a map nor a list; of what only differs in its place in lists, one. */
function leavesOf(manifest: unknown): readonly (readonly string[])[] {
  const leaves = new Map<string, readonly string[]>();
  const walk = (value: unknown, path: readonly string[], shape: string): void => {
    if (typeof value !== "object" || value === null) leaves.set(shape, path);
    else {
      for (const [key, inner] of Object.entries(value)) {
        walk(inner, [...path, key], Array.isArray(value) ? `${shape}[]` : `${shape}.${key}`);
      }
    }
  };
  walk(manifest, [], "");
  return [...leaves.values()];
}

/** The same, but at the path a value that no field takes. */
function spoiltAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return { no: { such: "value" } };
  if (typeof value !== "object" || value === null) return value;
  const spoilt = Object.entries(value).map(([name, inner]) => [
    name,
    name === key ? spoiltAt(inner, rest) : inner,
  ]);
  return Array.isArray(value) ? spoilt.map(([, inner]) => inner) : Object.fromEntries(spoilt);
}

function readBase(name: string): unknown {
  return parse(readFileSync(join(base, name), "utf8"));
}

describe("the manifests", () => {
  it.each(manifests)("%s is of its published schema", (_, manifest) => {
    expect(() => validate(manifest)).not.toThrow();
  });

  // The schemas let unknown fields pass; but of those that they know, none takes such a value.
  it.each(manifests)("%s has no field that its schema does not know", (_, manifest) => {
    const leaves = leavesOf(manifest);
    expect(leaves.length).toBeGreaterThan(3);
    expect(leaves.filter((path) => accepts(spoiltAt(manifest, path)))).toEqual([]);
  });

  it("are all listed, and all that is listed exists", () => {
    for (const folder of [base, example]) {
      const { resources, configMapGenerator, secretGenerator } = readKustomization(folder);
      const files = [
        ...resources,
        ...configMapGenerator.flatMap(({ files: listed }) => listed),
        ...secretGenerator.flatMap(({ envs }) => envs),
      ];
      for (const file of files)
        expect([file, existsSync(join(folder, file))]).toEqual([file, true]);
      const inside = files.filter((file) => !file.startsWith(".."));
      const present = readdirSync(folder).filter((name) => name !== "kustomization.yaml");
      expect(inside.toSorted()).toEqual(present.toSorted());
    }
  });

  it("lead to one another: selectors, ports, configuration, secrets and volumes", () => {
    const labels = { "app.kubernetes.io/name": "sandwatch" };
    expect(readBase("statefulset.yaml")).toMatchObject({
      metadata: { labels },
      spec: {
        replicas: 1,
        serviceName: "sandwatch",
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                ports: [{ name: "http", containerPort: 9740 }],
                envFrom: [{ secretRef: { name: "sandwatch-secrets" } }],
                livenessProbe: { httpGet: { path: "/-/healthy", port: "http" } },
                readinessProbe: { httpGet: { path: "/-/ready", port: "http" } },
                volumeMounts: [
                  { name: "data", mountPath: "/data" },
                  { name: "config", mountPath: "/etc/sandwatch" },
                ],
              },
            ],
            volumes: [{ name: "config", configMap: { name: "sandwatch-config" } }],
          },
        },
        volumeClaimTemplates: [{ metadata: { name: "data" } }],
      },
    });
    expect(readBase("service.yaml")).toMatchObject({
      metadata: { name: "sandwatch", labels },
      spec: { selector: labels, ports: [{ name: "http", targetPort: "http" }] },
    });
    expect(readBase("service-monitor.yaml")).toMatchObject({
      spec: { selector: { matchLabels: labels }, endpoints: [{ port: "http", path: "/metrics" }] },
    });
    expect(readBase("network-policy.yaml")).toMatchObject({
      spec: { podSelector: { matchLabels: labels }, ingress: [{ ports: [{ port: "http" }] }] },
    });
    const yours = readKustomization(example);
    expect(yours.configMapGenerator.map(({ name }) => name)).toEqual(["sandwatch-config"]);
    expect(yours.secretGenerator.map(({ name }) => name)).toEqual(["sandwatch-secrets"]);
  });

  it("give the container nothing that it does not need", () => {
    expect(readBase("statefulset.yaml")).toMatchObject({
      spec: {
        template: {
          spec: {
            automountServiceAccountToken: false,
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 1000,
              seccompProfile: { type: "RuntimeDefault" },
            },
            containers: [
              {
                resources: {
                  requests: {
                    cpu: expect.stringMatching(/^\d+m$/),
                    memory: expect.stringMatching(/^\d+Mi$/),
                  },
                },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ["ALL"] },
                },
              },
            ],
          },
        },
      },
    });
  });

  it("run the image that the Dockerfile makes, of this version", () => {
    const image = z.looseObject({ image: z.string() });
    const pod = z.looseObject({ spec: z.looseObject({ containers: z.array(image) }) });
    const { spec } = z
      .looseObject({ spec: z.looseObject({ template: pod }) })
      .parse(readBase("statefulset.yaml"));
    expect(spec.template.spec.containers.map((each) => each.image)).toEqual([
      `sandwatch:${version}`,
    ]);
    expect(readKustomization(example).images).toMatchObject([
      { name: "sandwatch", newTag: version },
    ]);
    const dockerfile = readFileSync(join(config, "../Dockerfile"), "utf8");
    for (const line of ["USER 1000:1000", "EXPOSE 9740", "VOLUME /data", "WORKDIR /"]) {
      expect(dockerfile.split("\n")).toContain(line);
    }
    expect(dockerfile).toContain('"--config", "/etc/sandwatch/sandwatch.yaml"');
  });

  it("come with an example of a configuration that can be used", () => {
    const environment = parseEnv(readFileSync(join(example, "sandwatch.env"), "utf8"));
    const loaded = loadConfig(join(example, "sandwatch.yaml"), environment, { logFormat: "json" });
    expect(loaded).toMatchObject({
      kind: "ok",
      config: { http: { host: "::", port: 9740 }, store: { path: "data/sandwatch.db" } },
    });
  });
});

it("every dashboard is put into a ConfigMap of its own", () => {
  const folder = join(config, "grafana");
  const listed = readKustomization(folder).configMapGenerator.map(
    ({ name, files }) => `${name}: ${files.join()}`,
  );
  const expected = readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((file) => `sandwatch-dashboard-${file.replace(".json", "")}: ${file}`);
  expect(listed.toSorted()).toEqual(expected.toSorted());
});
