import { dirname } from "node:path";
import { whyUnusable, type TlsSettings } from "../lib/tls.ts";
import { configSchema, type Config } from "./config.ts";
import { resolveReferences, type Environment } from "./resolve-references.ts";
import { issueFindings, pathKey, toFaults, valueAt } from "./faults.ts";
import type { Evidence, Fault, Finding, Path, Position } from "./faults.ts";
import { outboundOf } from "./schema-outbound.ts";
import { fillPlaceholderSecrets } from "./placeholder-secrets.ts";
import { readBytes, readYaml } from "./yaml-file.ts";

export type LoadedConfig =
  | { readonly kind: "ok"; readonly config: Config }
  | { readonly kind: "faulty"; readonly faults: readonly Fault[] };

export interface LoadOptions {
  /** The format of the log where the configuration names none. Default: json. */
  readonly logFormat?: Config["log"]["format"];
  /** Whether to use placeholders for addresses and secrets, so that rules can be checked without them. */
  readonly withoutSecrets?: boolean;
  /** Whether these leave the address of the HTTP server as it is. */
  readonly keepsAddress?: boolean;
  /** Whether custom bodies of receivers have a mask in the place of environment variables. */
  readonly masksBodies?: boolean;
}

const longestPem = 2 ** 20;

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
  const yaml = readYaml(file, "a configuration in YAML");
  if (yaml.kind === "faulty") return yaml;
  const { withoutSecrets = false } = options;
  const content = withoutSecrets
    ? fillPlaceholderSecrets(yaml.value, options.keepsAddress)
    : yaml.value;
  const resolved = resolveReferences(content, environment, dirname(file), options.masksBodies);
  const evidence = withoutSecrets ? resolved : withEnvironment(resolved, environment);
  const loaded = check(evidence, resolved.findings, yaml.locate, options);
  if (loaded.kind === "faulty" || !loaded.config.http.tls || withoutSecrets) return loaded;
  const findings = tlsFindings(loaded.config.http.tls);
  return findings.length === 0
    ? loaded
    : { kind: "faulty", faults: toFaults(findings, yaml.locate) };
}

/** With what `outbound` has of the environment where the file does not say it. */
function withEnvironment(evidence: Evidence, environment: Environment): Evidence {
  const { value, origins } = evidence;
  const { outbound = {}, ...rest }: Readonly<Record<string, unknown>> = isMapping(value)
    ? value
    : {};
  if (!isMapping(value) || !isMapping(outbound)) return evidence;
  const found = outboundOf(environment).filter(({ setting }) => outbound[setting] === undefined);
  const added = Object.fromEntries(found.map((each) => [each.setting, each.value]));
  const shown = found.map(({ setting, variable }) => {
    const path = ["outbound", setting];
    return [pathKey(path), { shown: `the value of ${variable}`, path }] as const;
  });
  return {
    value: { ...rest, outbound: { ...outbound, ...added } },
    origins: new Map([...origins, ...shown]),
  };
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tlsFindings(tls: TlsSettings): readonly Finding[] {
  const { certificateFile, keyFile, clientCaFile } = tls;
  const files = {
    certificate_file: certificateFile,
    key_file: keyFile,
    client_ca_file: clientCaFile,
  };
  const unreadable = Object.entries(files).flatMap(([name, file]): Finding[] => {
    const read = file === null ? null : readBytes(file, longestPem);
    if (read?.kind !== "failed") return [];
    const found = `a file that cannot be used: ${read.why}`;
    const allowed = "the path of a file in PEM, from the configuration's folder";
    return [{ path: ["http", "tls", name], found, allowed }];
  });
  const why = unreadable.length > 0 ? null : whyUnusable(tls);
  if (why === null) return unreadable;
  return [{ path: ["http", "tls"], found: why, allowed: "a certificate with its key" }];
}

/**
 * Checks a configuration that did not come from a file, written as the file would be. Nothing is
 * substituted and no file is read.
 */
export function parseConfig(value: unknown): LoadedConfig {
  return check({ value, origins: new Map() }, [], () => null, {});
}

function check(
  evidence: Evidence,
  before: readonly Finding[],
  locate: (path: Path) => Position | null,
  { logFormat }: LoadOptions,
): LoadedConfig {
  const { data, error } = configSchema.safeParse(evidence.value);
  const known = new Set(before.map(({ path }) => pathKey(path)));
  const findings = issueFindings(error, evidence)
    // As it is written: a secret that came from a file as `..._file`.
    .map((each) => ({ ...each, path: evidence.origins.get(pathKey(each.path))?.path ?? each.path }))
    .filter(({ path }) => path.length === 0 || !known.has(pathKey(path)));
  const faults = toFaults(join(before, findings), locate);
  if (!data || faults.length > 0) return { kind: "faulty", faults };
  const isFormatGiven = valueAt(evidence.value, ["log", "format"]) !== undefined;
  if (!logFormat || isFormatGiven) return { kind: "ok", config: data };
  return { kind: "ok", config: { ...data, log: { ...data.log, format: logFormat } } };
}

function* join<Item>(...lists: readonly Iterable<Item>[]): Generator<Item, void> {
  for (const list of lists) yield* list;
}
