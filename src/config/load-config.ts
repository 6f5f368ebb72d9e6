import { dirname } from "node:path";
import type { Config, LogConfig } from "./config.ts";
import { crossChecks } from "./cross-checks.ts";
import { resolveReferences, type Environment } from "./environment.ts";
import type { Evidence } from "./evidence.ts";
import { pathKey, toFaults } from "./faults.ts";
import type { Fault, Finding, Path, Position } from "./faults.ts";
import { inventSecrets } from "./invent-secrets.ts";
import { issueFindings } from "./issue-findings.ts";
import { parseYaml } from "./parse-yaml.ts";
import { readText } from "./read-text.ts";
import { settingsSchema, type Settings } from "./schema.ts";
import { toConfig } from "./to-config.ts";

export type LoadedConfig =
  | { readonly kind: "ok"; readonly config: Config }
  | { readonly kind: "faulty"; readonly faults: readonly Fault[] };

export interface LoadOptions {
  /** The format of the log where the configuration names none. Left out: json. */
  readonly logFormat?: LogConfig["format"];
  /** Whether addresses and secrets are made up: for looking at rules, where none is at hand. */
  readonly withoutSecrets?: boolean;
}

const longestFile = 4 * 2 ** 20;

/**
 * Reads the configuration, the environment variables it names and the secret files it names, whose
 * paths are taken from the configuration's folder. Nothing else reads them. Never throws.
 *
 * @returns the configuration, or every fault it has
 */
export function loadConfig(
  file: string,
  environment: Environment,
  options: LoadOptions = {},
): LoadedConfig {
  const read = readText(file, longestFile);
  if (read.kind === "failed") {
    const found = `a file that cannot be used: ${read.why}`;
    return faulty([{ path: [], found, allowed: "a configuration in YAML" }], () => null);
  }
  const yaml = parseYaml(read.text);
  if (!yaml.value) return faulty(yaml.findings, yaml.locate);
  const { content } = yaml.value;
  const readable = options.withoutSecrets === true ? inventSecrets(content) : content;
  const resolved = resolveReferences(readable, environment, dirname(file));
  const checked = check(resolved);
  const findings = [
    ...yaml.findings,
    ...resolved.findings,
    ...checked.findings.filter((finding) => !resolved.unresolved.has(pathKey(finding.path))),
  ];
  if (findings.length > 0 || !checked.settings) {
    return faulty(asWritten(findings, resolved), yaml.locate);
  }
  return { kind: "ok", config: toConfig(checked.settings, options.logFormat ?? "json") };
}

/**
 * Checks a configuration that did not come from a file, written as the file would be. Nothing is
 * substituted and no file is read.
 */
export function parseConfig(value: unknown, options: LoadOptions = {}): LoadedConfig {
  const checked = check({ value, origins: new Map() });
  if (!checked.settings || checked.findings.length > 0) return faulty(checked.findings, () => null);
  return { kind: "ok", config: toConfig(checked.settings, options.logFormat ?? "json") };
}

interface Checked {
  readonly settings: Settings | undefined;
  readonly findings: readonly Finding[];
}

function check(evidence: Evidence): Checked {
  const result = settingsSchema.safeParse(evidence.value);
  const issues = result.success ? [] : result.error.issues;
  const findings = [
    ...issues.flatMap((issue) => issueFindings(issue, evidence)),
    ...crossChecks(evidence),
  ];
  return { settings: result.data, findings };
}

/** A secret that came from a file was written as `..._file`. */
function asWritten(findings: readonly Finding[], evidence: Evidence): Finding[] {
  return findings.map((finding) => {
    const last = finding.path.at(-1);
    const origin = evidence.origins.get(pathKey(finding.path));
    if (origin?.kind !== "file" || last === undefined) return finding;
    return { ...finding, path: [...finding.path.slice(0, -1), `${last}_file`] };
  });
}

function faulty(
  findings: readonly Finding[],
  locate: (path: Path) => Position | null,
): Extract<LoadedConfig, { kind: "faulty" }> {
  return { kind: "faulty", faults: toFaults(findings, locate) };
}
