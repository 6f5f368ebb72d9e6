import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { Namespace } from "kubernetes-models/v1/Namespace";
import { Service } from "kubernetes-models/v1/Service";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import type { Environment } from "../../src/config/resolve-references.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { version } from "../../src/lib/version.ts";
import { faultLines } from "../config/support.ts";

const config = join(import.meta.dirname, "../../config");
const base = join(config, "kubernetes/base");
const example = join(config, "kubernetes/example");
const standby = join(config, "kubernetes/standby");
const folders = [base, example, standby];

const configMap = z.looseObject({ name: z.string(), files: z.array(z.string()) });
const secret = z.looseObject({ name: z.string(), envs: z.array(z.string()) });
const kustomization = z.looseObject({
  resources: z.array(z.string()).default([]),
  configMapGenerator: z.array(configMap).default([]),
  secretGenerator: z.array(secret).default([]),
});

const readYaml = (...path: string[]): unknown => parse(readFileSync(join(...path), "utf8"));
const readBase = (name: string): unknown => readYaml(base, name);
const readKustomization = (folder: string) =>
  kustomization.parse(readYaml(folder, "kustomization.yaml"));

const kinds = {
  Namespace,
  Service,
  StatefulSet,
  NetworkPolicy,
  PodDisruptionBudget,
  PrometheusRule,
  ServiceMonitor,
};

const kindOf = (manifest: unknown): string | undefined =>
  z.looseObject({ kind: z.string() }).safeParse(manifest).data?.kind;

const manifests = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".yaml") && name !== "kustomization.yaml")
    .map((name) => [name, readYaml(folder, name)] as const)
    .filter(([, manifest]) => kindOf(manifest) !== undefined),
);

function isValid(manifest: unknown, kind = kindOf(manifest)): boolean {
  const Kind = Object.entries(kinds).find(([name]) => name === kind)?.[1];
  if (!Kind) throw new TypeError(`no schema of ${kind}`);
  try {
    new Kind(JSON.parse(JSON.stringify(manifest))).validate();
    return true;
  } catch {
    return false;
  }
}

/** The manifest, once for each of its values, with one there that no field takes. */
function* spoilt(value: unknown, path = ""): Generator<readonly [path: string, manifest: unknown]> {
  if (typeof value !== "object" || value === null) {
    yield [path, { no: { such: "value" } }];
    return;
  }
  const entries = Object.entries(value);
  for (const [name, inner] of entries) {
    for (const [at, changed] of spoilt(inner, `${path}.${name}`)) {
      const others = entries.map(([each, kept]) => [each, each === name ? changed : kept]);
      yield [
        at,
        Array.isArray(value) ? others.map(([, item]) => item) : Object.fromEntries(others),
      ];
    }
  }
}

const podSchema = z.looseObject({ containers: z.array(z.looseObject({})).length(1) });
const statefulSet = z
  .looseObject({ spec: z.looseObject({ template: z.looseObject({ spec: podSchema }) }) })
  .parse(readBase("statefulset.yaml"));
const pod = statefulSet.spec.template.spec;
const [container] = pod.containers;

describe("the manifests", () => {
  // The schemas let unknown fields pass; but of those that they know, none takes the spoilt value.
  it.each(manifests)("%s is of its published schema, and has only its fields", (_, manifest) => {
    expect(isValid(manifest)).toBe(true);
    const changed = [...spoilt(manifest)];
    expect(changed.length).toBeGreaterThan(3);
    expect(
      changed.filter(([, each]) => isValid(each, kindOf(manifest))).map(([path]) => path),
    ).toEqual([]);
  });

  it("are all listed, and all that is listed exists", () => {
    for (const folder of folders) {
      const { resources, configMapGenerator, secretGenerator } = readKustomization(folder);
      const named = [
        ...resources,
        ...configMapGenerator.flatMap((each) => each.files),
        ...secretGenerator.flatMap((each) => each.envs),
      ];
      for (const file of named)
        expect([file, existsSync(join(folder, file))]).toEqual([file, true]);
      const inside = named.filter((file) => !file.startsWith(".."));
      const present = readdirSync(folder).filter((name) => name !== "kustomization.yaml");
      expect(inside.toSorted()).toEqual(present.toSorted());
    }
  });

  it("refer to one another, and give the container nothing that it does not need", () => {
    const labels = { "app.kubernetes.io/name": "sandwatch" };
    expect(statefulSet).toMatchObject({
      metadata: { labels },
      spec: {
        replicas: 1,
        serviceName: "sandwatch",
        selector: { matchLabels: labels },
        template: { metadata: { labels } },
        volumeClaimTemplates: [{ metadata: { name: "data" } }],
      },
    });
    const seccompProfile = { type: "RuntimeDefault" };
    expect(pod).toMatchObject({
      volumes: [{ name: "config", configMap: { name: "sandwatch-config" } }],
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile },
    });
    const [cpu, memory] = [/^\d+m$/, /^\d+Mi$/].map((each) => expect.stringMatching(each));
    expect(container).toMatchObject({
      image: `sandwatch:${version}`,
      ports: [{ name: "http", containerPort: 9740 }],
      envFrom: [{ secretRef: { name: "sandwatch-secrets" } }],
      livenessProbe: { httpGet: { path: "/-/healthy", port: "http" } },
      readinessProbe: { httpGet: { path: "/-/ready", port: "http" } },
      volumeMounts: [
        { name: "data", mountPath: "/data" },
        { name: "config", mountPath: "/etc/sandwatch" },
      ],
      resources: { requests: { cpu, memory } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
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
    expect(readKustomization(example)).toMatchObject({
      configMapGenerator: [{ name: "sandwatch-config" }],
      secretGenerator: [{ name: "sandwatch-secrets" }],
      images: [{ name: "sandwatch", newTag: version }],
    });
    const dockerfile = readFileSync(join(config, "../Dockerfile"), "utf8");
    expect(dockerfile.split("\n")).toEqual(
      expect.arrayContaining(["USER 1000:1000", "EXPOSE 9740", "VOLUME /data", "WORKDIR /"]),
    );
    expect(dockerfile).toContain('"--config", "/etc/sandwatch/sandwatch.yaml"');
  });

  it("let a start wait for longer than restarts are delayed that follow one another", () => {
    const { httpGet, periodSeconds, failureThreshold } = z
      .looseObject({
        httpGet: z.looseObject({ path: z.string() }),
        periodSeconds: z.number(),
        failureThreshold: z.number(),
      })
      .parse(container?.["startupProbe"]);
    expect(httpGet.path).toBe("/-/healthy");
    expect(periodSeconds * failureThreshold).toBeGreaterThan(10 * 60);
  });

  it("come with examples of configurations that can be used, one for two processes", () => {
    const placeholders = {
      ...parseEnv(readFileSync(join(example, "sandwatch.env"), "utf8")),
      ...parseEnv(readFileSync(join(standby, "postgres.env"), "utf8")),
      POD_IP: "10.0.0.1",
    };
    const environment = Object.fromEntries(
      Object.entries(placeholders).map(([name, value]) => [
        name,
        value?.replaceAll("replace-me", "their-own"),
      ]),
    );
    const load = (folder: string, variables: Environment = environment) =>
      loadConfig(join(folder, "sandwatch.yaml"), variables, { logFormat: "json" });
    // Secrets that everybody can read are refused.
    expect(faultLines(load(example, placeholders))).toHaveLength(3);
    expect(faultLines(load(standby, placeholders))).toHaveLength(4);
    const http = { host: "::", port: 9740 };
    expect(load(example)).toMatchObject({
      kind: "ok",
      config: { http, store: { path: "data/sandwatch.db", postgres: null }, cluster: null },
    });
    expect(load(standby)).toMatchObject({
      kind: "ok",
      config: {
        http: { ...http, allowedHosts: ["sandwatch", "10.0.0.1"] },
        store: { postgres: { schema: "sandwatch" } },
        cluster: { address: "http://10.0.0.1:9740" },
      },
    });
    const {
      store: _,
      cluster: __,
      ...others
    } = z.looseObject({}).parse(readYaml(standby, "sandwatch.yaml"));
    expect(others).toEqual(readYaml(example, "sandwatch.yaml"));
  });

  it("let processes be drained one by one, and call one another", () => {
    const labels = { "app.kubernetes.io/name": "sandwatch" };
    expect(readYaml(standby, "pod-disruption-budget.yaml")).toMatchObject({
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    });
    const ports = [{ port: "http" }];
    expect(readYaml(standby, "network-policy.yaml")).toMatchObject({
      spec: {
        podSelector: { matchLabels: labels },
        ingress: [{ from: [{ podSelector: { matchLabels: labels } }], ports }],
        egress: [
          { to: [{ podSelector: { matchLabels: labels } }], ports },
          { ports: [{ port: 5432 }] },
        ],
      },
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
