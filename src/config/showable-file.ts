import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * The path of a secret file as it may stand in a message, after a comma. What was given as the path may be the secret
 * itself, so it is shown only when it exists, or is a path by its looks; otherwise the folder is, in which it was
 * looked for. A variable in it is shown by its name.
 *
 * @param name the path, with variables replaced
 * @param written the path as it is in the configuration
 * @param folder where relative paths begin
 */
export function showableFile(name: string, written: unknown, folder: string): string {
  const file = resolve(folder, name);
  const literal = typeof written === "string" ? written : name;
  if (literal !== name) {
    return looksLikePath(literal.replaceAll(/\$\{\w+\}/g, "x")) ? `, ${literal}` : "";
  }
  if (existsSync(file) || isInKnownFolder(name, file) || looksLikePath(name)) return `, ${file}`;
  return name.includes("/") ? "" : `, looked for in ${resolve(folder)}`;
}

function isInKnownFolder(name: string, file: string): boolean {
  const parent = dirname(file);
  return name.includes("/") && parent !== "/" && existsSync(parent);
}

/** A relative one needs an extension or a folder; no part may look like a token. */
function looksLikePath(text: string): boolean {
  if (/^[a-z][a-z0-9_-]{0,40}\.[a-z]{2,8}$/.test(text)) return true;
  const [first = "", ...parts] = text.split("/");
  if (parts.length === 0 || text.startsWith("//")) return false;
  return [first, ...parts].every((part, index) => (index === 0 && part === "") || isPlain(part));
}

function isPlain(part: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /[0-9]/].filter((kind) => kind.test(part)).length;
  return /^[\w.-]{1,40}$/.test(part) && (kinds < 2 || (kinds === 2 && part.length <= 20));
}
