import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import {
  fromFile,
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
  const origins = new Map<string, Origin>();
  const findings: Finding[] = [];
  const fail = (path: Path, found: string, allowed: string): undefined => {
    findings.push({ path, found, allowed });
  };

  let valuesLeft = longestValues;

  const substitute = (text: string, path: Path): string | undefined => {
    const names: string[] = [];
    let isWhole = true;
    const result = text.replace(reference, (match, name: string | undefined) => {
      if (name === undefined) return "${";
      const isName = variableName.test(name) && match.endsWith("}");
      const variable = isName && Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (variable) {
        valuesLeft -= variable.length;
        isWhole &&= valuesLeft >= 0;
        if (!isWhole) return "";
        names.push(match);
        return masksBodies && path.includes("body") ? mask : variable;
      }
      isWhole = false;
      if (isName) {
        const shown = isPlainName(name) ? match : "a variable whose name is not shown";
        fail(path, `${shown}, which is not set or empty`, "an environment variable that is set");
      } else {
        const allowed = "${NAME} for an environment variable, $${ for the characters themselves";
        fail(path, "${ without the name of a variable", allowed);
      }
      return "";
    });
    if (!isWhole && valuesLeft < 0) fail(path, tooLong, "fewer of them");
    if (names.length > 0) {
      const shown = [...new Set(names)].join(" and ");
      origins.set(pathKey(path), { shown: `the value of ${shown}`, path });
    }
    return isWhole ? result : undefined;
  };

  const readSecret = (setting: string, name: unknown, path: Path): string | undefined => {
    if (name === undefined) return undefined;
    const isSecret = setting !== "ca";
    const allowed = `the path of a text file that contains only ${isSecret ? "the secret" : "certificates in PEM"}`;
    if (typeof name !== "string" || name === "") return fail(path, "no path", allowed);
    if (valuesLeft < 0) return fail(path, tooLong, "fewer of them");
    const file = resolve(folder, name);
    const read = readText(file, isSecret ? longestSecret : longestCertificates);
    const shown = origins.has(pathKey(path)) ? "" : showable(name, file, folder);
    if (read.kind === "failed") {
      return fail(path, `a file that cannot be used${shown}: ${read.why}`, allowed);
    }
    valuesLeft -= read.text.length;
    const secret = read.text.replace(/[\r\n]+$/, "");
    return secret === "" ? fail(path, `an empty file${shown}`, allowed) : secret;
  };

  const walk = (child: unknown, path: Path): unknown => {
    if (typeof child === "string") return substitute(child, path);
    if (Array.isArray(child)) return child.map((item, index) => walk(item, [...path, index]));
    if (typeof child !== "object" || child === null) return child;
    const resolved = new Map(
      Object.entries(child).map(([name, each]) => {
        const found = walk(each, [...path, name]);
        return [
          name,
          paths.has(name) && typeof found === "string" ? resolve(folder, found) : found,
        ];
      }),
    );
    for (const name of fromFile) {
      const fileSetting = `${name}_file`;
      if (!resolved.has(fileSetting)) continue;
      const written = [...path, fileSetting];
      const file = resolved.get(fileSetting);
      resolved.delete(fileSetting);
      if (resolved.has(name)) {
        fail(written, `${name} as well`, "one of the two");
        continue;
      }
      resolved.set(name, readSecret(name, file, written));
      const origin = { shown: "the content of the file", path: written };
      origins.set(pathKey([...path, name]), origin);
    }
    for (const name of fromFile) {
      const found = resolved.get(name);
      if (typeof found !== "string" || !placeholder.test(found)) continue;
      const origin = origins.get(pathKey([...path, name]));
      const shown = `${origin?.shown ?? "a value"}, which is a placeholder`;
      fail(origin?.path ?? [...path, name], shown, "a value of your own");
    }
    return Object.fromEntries(resolved);
  };

  return { value: walk(value, []), origins, findings };
}

/** The path is shown only if the file exists: the setting may contain the secret itself. */
function showable(name: string, file: string, folder: string): string {
  if (existsSync(file)) return `, ${file}`;
  return isAbsolute(name) ? "" : `, looked for in ${resolve(folder)}`;
}
