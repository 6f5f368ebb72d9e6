import { resolve } from "node:path";
import { counted } from "../fleet/counted.ts";
import type { Origin } from "./evidence.ts";
import { pathKey, type Finding, type Path } from "./faults.ts";
import { readText } from "./read-text.ts";
import { showableFile } from "./showable-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Resolved {
  readonly value: unknown;
  /** By `pathKey`. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly findings: readonly Finding[];
  /** Settings left without a value, by `pathKey`: their fault is told, a second one would be noise. */
  readonly unresolved: ReadonlySet<string>;
}

/** Settings that may be read from a file, which is named by the same setting with `_file` after it. */
const fromFile = ["api_key", "url", "secret", "routing_key", "bearer_token"];

const longestSecret = 64 * 1024;

/** `$${` stands for `${` itself. */
const reference = /\$\$\{|\$\{([^}]*)\}?/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Puts environment variables and the contents of secret files where the configuration refers to
 * them. It happens after the YAML was parsed, so no value can be taken for YAML.
 *
 * @param folder where relative paths of secret files begin
 */
export function resolveReferences(
  value: unknown,
  environment: Environment,
  folder: string,
): Resolved {
  const origins = new Map<string, Origin>();
  const findings: Finding[] = [];
  const unresolved = new Set<string>();
  /** Variables that are not set, with every setting that refers to them. */
  const missing = new Map<string, Path[]>();

  const fail = (path: Path, found: string, allowed: string): undefined => {
    findings.push({ path, found, allowed });
    unresolved.add(pathKey(path));
  };

  const substitute = (text: string, path: Path): string | undefined => {
    const names: string[] = [];
    let failed = false;
    const result = text.replace(reference, (match, name: string | undefined) => {
      if (name === undefined) return "${";
      const known = variableName.test(name) && match.endsWith("}");
      const variable = known && Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (variable) {
        names.push(name);
        return variable;
      }
      failed = true;
      const allowed = "${NAME} for an environment variable, $${ for the characters themselves";
      if (!known) fail(path, "${ without the name of a variable", allowed);
      else missing.set(name, [...(missing.get(name) ?? []), path]);
      return "";
    });
    if (names.length > 0) origins.set(pathKey(path), { kind: "variables", names });
    return failed ? undefined : result;
  };

  const readSecret = (name: unknown, written: unknown, path: Path): string | undefined => {
    if (name === undefined) return undefined;
    const allowed = "the path of a text file that holds the secret alone";
    if (typeof name !== "string" || name === "") return fail(path, "no path", allowed);
    const read = readText(resolve(folder, name), longestSecret);
    const shown = showableFile(name, written, folder);
    if (read.kind === "failed")
      return fail(path, `a file that cannot be used${shown}: ${read.why}`, allowed);
    const secret = read.text.replace(/[\r\n]+$/, "");
    return secret === "" ? fail(path, `an empty file${shown}`, allowed) : secret;
  };

  const walkMapping = (mapping: object, path: Path, above: ReadonlySet<object>): unknown => {
    const resolved = new Map<string, unknown>();
    for (const [name, child] of Object.entries(mapping)) {
      resolved.set(name, walk(child, [...path, name], above));
    }
    for (const name of fromFile) {
      const fileSetting = `${name}_file`;
      if (!resolved.has(fileSetting)) continue;
      const file = resolved.get(fileSetting);
      resolved.delete(fileSetting);
      if (resolved.has(name)) {
        fail([...path, fileSetting], `${name} beside it`, "one of the two");
        continue;
      }
      const written = Object.entries(mapping).find(([each]) => each === fileSetting)?.[1];
      const secret = readSecret(file, written, [...path, fileSetting]);
      if (secret === undefined) unresolved.add(pathKey([...path, name]));
      origins.set(pathKey([...path, name]), { kind: "file" });
      resolved.set(name, secret);
    }
    return Object.fromEntries(resolved);
  };

  const walk = (child: unknown, path: Path, above: ReadonlySet<object>): unknown => {
    if (typeof child === "string") return substitute(child, path);
    if (typeof child !== "object" || child === null) return child;
    if (above.has(child))
      return fail(path, "an alias for what it stands in", "an alias for another part");
    const within = new Set([...above, child]);
    if (!Array.isArray(child)) return walkMapping(child, path, within);
    return child.map((item, index) => walk(item, [...path, index], within));
  };

  const resolved = walk(value, [], new Set());
  for (const [name, paths] of missing) {
    const [first = []] = paths;
    const others = paths.length - 1;
    const elsewhere = others === 0 ? "" : ` (here and in ${counted(others, "other place")})`;
    fail(
      first,
      `\${${name}}, which is not set or empty${elsewhere}`,
      "an environment variable that is set",
    );
    for (const path of paths) unresolved.add(pathKey(path));
  }
  return { value: resolved, origins, findings, unresolved };
}
