import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { z } from "zod";

const folder = join(import.meta.dirname, "../config/prometheus");
const ruleFile = z.strictObject({ groups: z.array(z.unknown()) });

const note = `# Generated from config/prometheus/*.rules.yaml by \`npm run generate\`. Do not edit.\n`;

/** The rules for Prometheus as its operator takes them. */
export function prometheusRule(): string {
  const files = readdirSync(folder).filter((name) => name.endsWith(".rules.yaml"));
  const groups = files
    .toSorted()
    .flatMap((name) => ruleFile.parse(parse(readFileSync(join(folder, name), "utf8"))).groups);
  const manifest = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "sandwatch", labels: { "app.kubernetes.io/name": "sandwatch" } },
    spec: { groups },
  };
  return note + stringify(manifest, { lineWidth: 0 });
}
