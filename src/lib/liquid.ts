import { createRequire } from "node:module";
import type * as liquidjs from "liquidjs";
import type { Liquid, Template } from "liquidjs";

/** In characters. */
const longestTemplate = 64 * 1_024;

/**
 * How much work a text may take: each character that is written, or made by a filter, counts as one. Time does not count,
 * as a busy machine would then lose what a quiet one sends.
 */
const mostWork = 2_000_000;
/** What an output, a tag or a text between them costs besides. */
const workOfStep = 40;

let loaded: Liquid | undefined;

/** Loaded with the first template: most installations have none. */
function engine(): Liquid {
  if (loaded) return loaded;
  const library: typeof liquidjs = createRequire(import.meta.url)("liquidjs");
  const { Liquid: Engine, defaultOperators } = library;
  loaded = new Engine({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    timezoneOffset: 0,
    parseLimit: longestTemplate,
    memoryLimit: mostWork,
    operators: Object.fromEntries(
      Object.entries(defaultOperators).map(([name, operator]) => [name, counted(operator)]),
    ),
  });
  const { renderer } = loaded;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  // The library itself counts neither steps nor what `capture` collects.
  renderer.renderTemplates = (templates, context, emitter = countingEmitter(context)) => {
    const values = templates.flatMap((each) => [...(each.arguments?.() ?? [])]);
    context.memoryLimit.use(workOfStep * (templates.length + values.length + 1));
    return renderTemplates(templates, context, emitter);
  };
  // They would read files.
  for (const name of ["include", "render", "layout", "block"]) delete loaded.tags[name];
  // Filters count the characters that they make, but not what they evaluate for each item.
  for (const [name, filter] of Object.entries(loaded.filters)) {
    if (typeof filter !== "function") continue;
    loaded.filters[name] = function (value: unknown, ...more) {
      this.context.memoryLimit.use(workOver(value) + workOfStep * (more.length + 1));
      return filter.call(this, value, ...more);
    };
  }
  return loaded;
}

function counted(operator: liquidjs.Operators[string]): typeof operator {
  // `not` has one operand, which the context follows.
  return (one: unknown, other: liquidjs.Context, context?: liquidjs.Context) => {
    (context ?? other).memoryLimit.use(workOfStep + workOver(one));
    return operator(one, other, context ?? other);
  };
}

function workOver(value: unknown): number {
  if (typeof value === "string") return value.length;
  return Array.isArray(value) ? workOfStep * value.length : 0;
}

function countingEmitter({ memoryLimit }: liquidjs.Context): liquidjs.Emitter {
  return {
    buffer: "",
    write(value) {
      const text = [value].flat(Infinity).join("");
      memoryLimit.use(text.length);
      this.buffer += text;
    },
  };
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
  /** Variables and fields whose own fields are not known. */
  readonly mappings?: readonly string[];
}

const loopFields = ["index", "index0", "rindex", "rindex0", "first", "last", "length"];
const listFields = ["size", "first", "last"];

/** What is wrong with a template, wherever in it; null: nothing. */
export function templateFault(
  text: string,
  { variables: known, fields, mappings = [] }: KnownVariables,
): TemplateFault | null {
  const template = parse(text);
  if ("problem" in template) return template;
  const { variables, globals } = engine().analyzeSync(template.parsed);
  const isGlobal = (root: string): boolean => Object.hasOwn(globals, root);
  for (const each of Object.values(variables).flat()) {
    const names = each.segments.filter((segment) => typeof segment === "string");
    const mapping = names.findIndex((name) => mappings.includes(name));
    const [root = "", ...path] = mapping < 0 ? names : names.slice(0, mapping + 1);
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

/** Fills a template. Null: that takes too much work. */
export type FillTemplate = (variables: object) => string | null;

/** @throws {Error} when the template is not valid */
export function compileTemplate(text: string): FillTemplate {
  const template = parse(text);
  if ("problem" in template) throw new Error("The template is not valid.");
  return (variables) => {
    try {
      return String(engine().renderSync(template.parsed, variables));
    } catch {
      return null;
    }
  };
}
