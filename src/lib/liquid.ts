import { createRequire } from "node:module";
import type * as liquidjs from "liquidjs";
import type { Liquid, Template } from "liquidjs";

/** In characters, milliseconds, and roughly in bytes. */
const limits = { parseLimit: 64 * 1_024, renderLimit: 100, memoryLimit: 4_000_000 };

let loaded: Liquid | undefined;

/** Loaded with the first template: most installations have none. */
function engine(): Liquid {
  if (loaded) return loaded;
  const { Liquid: Engine }: typeof liquidjs = createRequire(import.meta.url)("liquidjs");
  loaded = new Engine({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    timezoneOffset: 0,
    ...limits,
  });
  // They would read files.
  for (const name of ["include", "render", "layout", "block"]) delete loaded.tags[name];
  return loaded;
}

export interface TemplateFault {
  readonly problem: "syntax" | "variable";
  /** Both counted from one, within the template. */
  readonly line: number;
  readonly column: number;
  /** The variable that is not known. */
  readonly name?: string;
}

/** What a template may refer to: variables, and the fields of the items in those that are lists. */
export interface KnownVariables {
  readonly variables: readonly string[];
  readonly fields: readonly string[];
}

const loopFields = ["index", "index0", "rindex", "rindex0", "first", "last", "length"];
const listFields = ["size", "first", "last"];

/** What is wrong with a template, wherever in it; null: nothing. */
export function templateFault(
  text: string,
  { variables: known, fields }: KnownVariables,
): TemplateFault | null {
  const template = parse(text);
  if ("problem" in template) return template;
  const { variables, globals } = engine().analyzeSync(template.parsed);
  const isGlobal = (root: string): boolean => Object.hasOwn(globals, root);
  for (const each of Object.values(variables).flat()) {
    const names = each.segments.filter((segment) => typeof segment === "string");
    const [root = "", ...path] = names;
    const allowed = root === "forloop" ? loopFields : [...fields, ...listFields];
    const isKnown = root === "forloop" || !isGlobal(root) || known.includes(root);
    const wrong = isKnown ? path.find((name) => !allowed.includes(name)) : root;
    if (wrong === undefined) continue;
    const { row: line, col: column } = each.location;
    return { problem: "variable", line, column, name: wrong };
  }
  return null;
}

function parse(text: string): { readonly parsed: Template[] } | TemplateFault {
  try {
    return { parsed: engine().parse(text) };
  } catch (error) {
    const token: unknown = error instanceof Error && "token" in error ? error.token : null;
    const [line = 1, column = 1] = positionOf(token);
    return { problem: "syntax", line, column };
  }
}

function positionOf(token: unknown): readonly number[] {
  const hasPosition = (value: unknown): value is { getPosition: () => number[] } =>
    typeof value === "object" && value !== null && "getPosition" in value;
  return hasPosition(token) ? token.getPosition() : [];
}

/**
 * @returns fills the template; it throws when that takes too much time or memory
 * @throws {Error} when the template is not valid
 */
export function compileTemplate(text: string): (variables: object) => string {
  const template = parse(text);
  if ("problem" in template) throw new Error("The template is not valid.");
  return (variables) => String(engine().renderSync(template.parsed, variables));
}
