import type { ServedOperation } from "./api.ts";
import type { Problem } from "./problem.ts";

const root = "/api/v1";

/** By which methods a path can be asked for; none: there is no such path. */
export function allowedMethods(
  url: string,
  operations: readonly ServedOperation[],
): readonly string[] {
  const path = url.replace(/[?#].*$/, "");
  const methods = operations
    .filter((operation) => patternOf(operation.path).test(path))
    .map(({ method }) => method);
  if (path === "/api/openapi.json") methods.push("GET");
  return methods.includes("GET") ? [...new Set([...methods, "HEAD"])] : [...new Set(methods)];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${root}${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

export function noSuchPath(operations: readonly ServedOperation[]): Problem {
  const rooms = [...new Set(operations.map(({ path }) => path.split("/")[1] ?? ""))];
  const last = rooms.pop() ?? "";
  const detail = `There is nothing at this address. Under ${root} there are ${rooms.join(", ")} and ${last}; /api/openapi.json describes them.`;
  return { status: 404, detail };
}

export function wrongMethod(method: string, allowed: readonly string[]): Problem {
  const detail = `There is no ${method} of this address, only ${allowed.join(" and ")}.`;
  return { status: 405, detail };
}
