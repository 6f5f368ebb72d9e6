/** Where in an answer a field stands: names of objects' fields, and positions in lists. */
export type FieldPath = readonly string[];

/** What `parseFieldPath` reads. */
export const fieldPathPattern = /^(?:[^.\\]|\\[.\\])+(?:\.(?:[^.\\]|\\[.\\])+)*$/u;

/**
 * Reads `data.plans.0.name`, where a name that holds a dot has it as `\.`, and a backslash as `\\`.
 *
 * @returns undefined when it is no path
 */
export function parseFieldPath(text: string): FieldPath | undefined {
  const parts = [""];
  for (const [token] of text.matchAll(/\\[.\\]|./gsu)) {
    if (token === "\\") return undefined;
    if (token === ".") parts.push("");
    else parts.push((parts.pop() ?? "") + (token.startsWith("\\") ? token.slice(1) : token));
  }
  return parts.every((part) => part !== "") ? parts : undefined;
}

/** The path as `parseFieldPath` reads it. */
export function fieldPathText(path: FieldPath): string {
  return path.map((part) => part.replaceAll(/[\\.]/g, "\\$&")).join(".");
}

/** What stands there in an answer; undefined: nothing does. */
export function fieldAt(answer: unknown, path: FieldPath): unknown {
  return path.reduce(fieldOf, answer);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  if (Array.isArray(value) && !/^\d+$/.test(name)) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}
