import type { z } from "zod";
import { operations, type Operation } from "../fleet/model.ts";
import { describeInterface } from "../service/openapi.ts";
import { promisedOperations } from "../service/operations.ts";
import type { validationEntrySchema } from "../service/schemas.ts";
import type { LookupData } from "./lookup-data.ts";
import { faultsOf, type FullFault } from "./faults.ts";
import { nestedJson } from "./listing.ts";

/** What is sent, before faults spoil the sending. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Iterable<string>;
}

type Headers = Answer["headers"];

function textAnswer(status: number, text: string, headers: Headers = {}): Answer {
  return { status, headers, body: [text] };
}

function jsonAnswer(status: number, value: unknown, headers: Headers = {}): Answer {
  return textAnswer(status, JSON.stringify(value), headers);
}

export function problem(status: number, detail: string, headers: Headers = {}): Answer {
  return jsonAnswer(status, { detail }, headers);
}

export const notFound = problem(404, "Not found");

interface Route {
  readonly region: string;
  readonly operation: Operation;
  /** As it stands in the path, percent-encoded. Empty where the operation takes none. */
  readonly rawId: string;
}

const paths = operations.map((operation) => {
  const pattern = promisedOperations[operation].path.replace(/\{\w+\}/, "([^/]+)");
  return [new RegExp(`^${pattern}$`), operation] as const;
});

/** Where a region is served: one path prefix each. */
export function prefixOf(region: string): string {
  return `/${encodeURIComponent(region)}`;
}

/** Null where there is no operation. */
export function routeOf(path: string, regions: readonly string[]): Route | null {
  const region = regionOf(path, regions);
  if (region === undefined) return null;
  const rest = path.slice(prefixOf(region).length);
  for (const [pattern, operation] of paths) {
    const match = pattern.exec(rest);
    if (match) return { region, operation, rawId: match[1] ?? "" };
  }
  return null;
}

function regionOf(path: string, regions: readonly string[]): string | undefined {
  return regions.find((name) => path.startsWith(`${prefixOf(name)}/`));
}

/** The document of the interface, of all regions or of one; null where it is not. */
export function documentAt(path: string, regions: readonly string[]): Answer | null {
  const region = regionOf(path, regions);
  const rest = region === undefined ? path : path.slice(prefixOf(region).length);
  if (rest !== "/openapi.json") return null;
  const servers = (region === undefined ? regions : [region]).map((name) => {
    return { url: prefixOf(name), description: name };
  });
  return jsonAnswer(200, describeInterface(servers));
}

/** The true answer of an operation, but for faults that replace it or change its JSON. */
export function answerTo(
  { operation, rawId }: Route,
  directory: LookupData,
  faults: readonly FullFault[],
  listing: () => Iterable<string>,
): Answer {
  const replaced = replacedAnswer(operation, faults);
  if (replaced) return replaced;
  const lookUp = (find: (id: string) => unknown): Answer => {
    const { parameter } = promisedOperations[operation];
    const read = readPathId(rawId, parameter ?? "");
    if ("invalid" in read) return jsonAnswer(422, { detail: [read.invalid] });
    const found = find(read.id);
    return found === undefined ? notFound : jsonAnswer(200, found);
  };
  const answers: Readonly<Record<Operation, () => Answer>> = {
    list_sandboxes: () => ({ status: 200, headers: {}, body: listing() }),
    list_universes: () => jsonAnswer(200, { universes: directory.universes }),
    get_user: () => lookUp(directory.user),
    get_universe_data: () => lookUp(directory.universeData),
    get_white_label: () => lookUp(directory.whiteLabel),
  };
  return reshaped(answers[operation](), faults);
}

/** Of several faults the first in this order. */
function replacedAnswer(operation: Operation, faults: readonly FullFault[]): Answer | null {
  const [status] = faultsOf(faults, "status");
  if (status) {
    const { retry_after: retryAfter } = status;
    const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
    return problem(status.status, "Simulated fault", headers);
  }
  if (faultsOf(faults, "missing").length > 0) return notFound;
  const [redirect] = faultsOf(faults, "redirect");
  if (redirect) return textAnswer(302, "", { location: redirect.location });
  if (faultsOf(faults, "malformed").length > 0) {
    return textAnswer(200, '<html><body>"Bad gateway"</body></html>');
  }
  const [nested] = faultsOf(faults, "nested");
  if (nested && operation !== "list_sandboxes") return textAnswer(200, nestedJson(nested.depth));
  return null;
}

/** With what the faults change in its JSON. Such an answer is held in memory as a whole. */
function reshaped(answer: Answer, faults: readonly FullFault[]): Answer {
  const changes = faultsOf(faults, "reshape");
  if (changes.length === 0) return answer;
  let content: unknown = JSON.parse([...answer.body].join(""));
  for (const { field, value } of changes) {
    const steps = field.split(/\.|(?=\[\])/).filter((step) => step !== "");
    content = reshape(content, steps, value);
  }
  return jsonAnswer(answer.status, content, answer.headers);
}

/** @param to undefined: what is there is omitted */
function reshape(value: unknown, [step, ...rest]: readonly string[], to: unknown): unknown {
  if (step === undefined) return to;
  if (step === "[]") {
    return Array.isArray(value) ? value.map((item: unknown) => reshape(item, rest, to)) : value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const inner = Object.entries(value).find(([name]) => name === step)?.[1];
  return { ...value, [step]: reshape(inner, rest, to) };
}

/** Longest id, in characters, that the simulated service takes. */
const longestId = 128;

type ValidationEntry = z.input<typeof validationEntrySchema>;

/** @param parameter the path parameter's name in the interface document, for the error's `loc` */
function readPathId(
  rawId: string,
  parameter: string,
): { readonly id: string } | { readonly invalid: ValidationEntry } {
  const invalid = (type: string, msg: string, input: string) => ({
    invalid: { loc: ["path", parameter], msg, type, input, ctx: {} },
  });
  let id: string;
  try {
    id = decodeURIComponent(rawId);
  } catch {
    return invalid("string_unicode", "Input should be valid UTF-8", rawId);
  }
  if (id.length <= longestId) return { id };
  return invalid("string_too_long", `String should have at most ${longestId} characters`, id);
}
