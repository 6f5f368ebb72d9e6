import { existsSync } from "node:fs";
import { isAbsolute, resolve as resolvePath } from "node:path";
import { fromFile } from "./fields.ts";
import {
  isPlainName,
  pathKey,
  type Evidence,
  type Finding,
  type Origin,
  type Path,
} from "./faults.ts";
import { readText } from "./yaml-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that are the path of a file. */
const paths = new Set(["certificate_file", "key_file", "client_ca_file"]);

const longestSecret = 64 * 1024;
/** A whole bundle of certificates is longer. */
const longestCertificates = 2 ** 20;

/** In characters, of all variables and files together: a small configuration can name a long one very often. */
const longestValues = 4 * 2 ** 20;
const tooLong = `environment variables and secret files with more than ${longestValues} characters in all`;

/** What stands for a variable in a custom body, where it is not to be shown. */
const mask = "[secret]";

/** What examples have in the place of secrets. It is known to everybody. */
const placeholder =
  /(?:replace|change)[-_ ]?(?:me|this)(?![a-z])|^your[-_ ].*(?:key|password|secret|token)|^<[^>]*>$|^x{8,64}$|^\.{3,64}$/i;

/** `$${` stands for `${` itself. */
const reference = /\$\$\{|\$\{([^}]*)\}?/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Puts environment variables and the contents of secret files where the configuration refers to
 * them. It happens after the YAML was parsed, so no value can be taken for YAML. What cannot be
 * resolved is undefined.
 *
 * @param folder where relative paths of secret files begin
 * @param masksBodies whether custom bodies of receivers have a mask in the place of variables
 */
export function resolveReferences(
  value: unknown,
  environment: Environment,
  folder: string,
  masksBodies: boolean | undefined = false,
): Evidence & { readonly findings: readonly Finding[] } {
  const references = new References(environment, folder, masksBodies);
  const { origins, findings } = references;
  return { value: references.resolve(value, []), origins, findings };
}

/** Resolves what one configuration refers to, and keeps where it came from. */
class References {
  private readonly environment: Environment;
  private readonly folder: string;
  private readonly masksBodies: boolean;
  readonly findings: Finding[] = [];
  readonly origins = new Map<string, Origin>();
  private valuesLeft = longestValues;

  constructor(environment: Environment, folder: string, masksBodies: boolean) {
    this.environment = environment;
    this.folder = folder;
    this.masksBodies = masksBodies;
  }

  private fail(path: Path, found: string, allowed: string): undefined {
    this.findings.push({ path, found, allowed });
  }

  private substitute(text: string, path: Path): string | undefined {
    const names: string[] = [];
    let isWhole = true;
    const result = text.replace(reference, (match, name: string | undefined) => {
      if (name === undefined) return "${";
      const isName = variableName.test(name) && match.endsWith("}");
      const variable =
        isName && Object.hasOwn(this.environment, name) ? this.environment[name] : undefined;
      if (variable) {
        this.valuesLeft -= variable.length;
        isWhole &&= this.valuesLeft >= 0;
        if (!isWhole) return "";
        names.push(match);
        return this.masksBodies && path.includes("body") ? mask : variable;
      }
      isWhole = false;
      if (isName) {
        const shown = isPlainName(name) ? match : "a variable whose name is not shown";
        this.fail(
          path,
          `${shown}, which is not set or empty`,
          "an environment variable that is set",
        );
      } else {
        const allowed = "${NAME} for an environment variable, $${ for the characters themselves";
        this.fail(path, "${ without the name of a variable", allowed);
      }
      return "";
    });
    if (!isWhole && this.valuesLeft < 0) this.fail(path, tooLong, "fewer of them");
    if (names.length > 0) {
      const shown = [...new Set(names)].join(" and ");
      this.origins.set(pathKey(path), { shown: `the value of ${shown}`, path });
    }
    return isWhole ? result : undefined;
  }

  private readSecret(setting: string, name: unknown, path: Path): string | undefined {
    if (name === undefined) return undefined;
    const isSecret = setting !== "ca";
    const allowed = `the path of a text file that contains only ${isSecret ? "the secret" : "certificates in PEM"}`;
    if (typeof name !== "string" || name === "") return this.fail(path, "no path", allowed);
    if (this.valuesLeft < 0) return this.fail(path, tooLong, "fewer of them");
    const file = resolvePath(this.folder, name);
    const read = readText(file, isSecret ? longestSecret : longestCertificates);
    const shown = this.origins.has(pathKey(path)) ? "" : showable(name, file, this.folder);
    if (read.kind === "failed") {
      return this.fail(path, `a file that cannot be used${shown}: ${read.why}`, allowed);
    }
    this.valuesLeft -= read.text.length;
    const secret = read.text.replace(/[\r\n]+$/, "");
    return secret === "" ? this.fail(path, `an empty file${shown}`, allowed) : secret;
  }

  private readSecretFiles(resolved: Map<string, unknown>, path: Path): void {
    for (const name of fromFile) {
      const fileSetting = `${name}_file`;
      if (!resolved.has(fileSetting)) continue;
      const written = [...path, fileSetting];
      const file = resolved.get(fileSetting);
      resolved.delete(fileSetting);
      if (resolved.has(name)) {
        this.fail(written, `${name} as well`, "one of the two");
        continue;
      }
      resolved.set(name, this.readSecret(name, file, written));
      const origin = { shown: "the content of the file", path: written };
      this.origins.set(pathKey([...path, name]), origin);
    }
  }

  private refusePlaceholders(resolved: ReadonlyMap<string, unknown>, path: Path): void {
    for (const name of fromFile) {
      const found = resolved.get(name);
      if (typeof found !== "string" || !placeholder.test(found)) continue;
      const origin = this.origins.get(pathKey([...path, name]));
      const shown = `${origin?.shown ?? "a value"}, which is a placeholder`;
      this.fail(origin?.path ?? [...path, name], shown, "a value of your own");
    }
  }

  resolve(child: unknown, path: Path): unknown {
    if (typeof child === "string") return this.substitute(child, path);
    if (Array.isArray(child))
      return child.map((item, index) => this.resolve(item, [...path, index]));
    if (typeof child !== "object" || child === null) return child;
    const resolved = new Map(
      Object.entries(child).map(([name, each]) => {
        const found = this.resolve(each, [...path, name]);
        return [
          name,
          paths.has(name) && typeof found === "string" ? resolvePath(this.folder, found) : found,
        ];
      }),
    );
    this.readSecretFiles(resolved, path);
    this.refusePlaceholders(resolved, path);
    return Object.fromEntries(resolved);
  }
}

/** The path is shown only if the file exists: the setting may contain the secret itself. */
function showable(name: string, file: string, folder: string): string {
  if (existsSync(file)) return `, ${file}`;
  return isAbsolute(name) ? "" : `, looked for in ${resolvePath(folder)}`;
}
