import type { ServedOperation } from "./api.ts";
import { apiPrefix, documentPath, eventsPath, operationsRoot, pathOf } from "./paths.ts";
import type { Problem } from "./problem.ts";

/** By which methods a path can be asked for; none: there is no such path. */
export function allowedMethods(
  url: string,
  operations: readonly ServedOperation[],
): readonly string[] {
  const path = pathOf(url);
  const methods = operations
    .filter((operation) => patternOf(operation.path).test(path))
    .map(({ method }) => method);
  if ([apiPrefix + documentPath, operationsRoot + eventsPath].includes(path)) methods.push("GET");
  return methods.includes("GET") ? [...new Set([...methods, "HEAD"])] : [...new Set(methods)];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${operationsRoot}${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

export function noSuchPath(operations: readonly ServedOperation[]): Problem {
  const paths = [...operations.map(({ path }) => path), eventsPath];
  const rooms = [...new Set(paths.map((path) => path.split("/")[1] ?? ""))];
  const detail = `There is nothing at this address. Under ${operationsRoot} there are ${inWords(rooms)}; ${apiPrefix}${documentPath} describes them.`;
  return { status: 404, detail };
}

export function wrongMethod(method: string, allowed: readonly string[]): Problem {
  const detail = `There is no ${method} of this address, only ${inWords(allowed)}.`;
  return { status: 405, detail };
}

function inWords(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
