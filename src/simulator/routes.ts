import { operations } from "../fleet/model.ts";
import type { Operation } from "../fleet/model.ts";
import { promisedOperations } from "../service/operations.ts";

export interface Route {
  readonly region: string;
  readonly operation: Operation;
  /** As it stands in the path, percent-encoded. Empty where the operation takes none. */
  readonly rawId: string;
}

const paths: readonly (readonly [RegExp, Operation])[] = operations.map((operation) => {
  const pattern = promisedOperations[operation].path.replace(/\{\w+\}/, "([^/]+)");
  return [new RegExp(`^${pattern}$`), operation];
});

const documentPath = "/openapi.json";

/** Where a region is served: one path prefix each. */
export function prefixOf(region: string): string {
  return `/${encodeURIComponent(region)}`;
}

/** Null when nothing is served there. */
export function routeOf(url: string, regions: readonly string[]): Route | null {
  const path = pathOf(url);
  const region = regionOf(path, regions);
  if (region === undefined) return null;
  const rest = path.slice(prefixOf(region).length);
  for (const [pattern, operation] of paths) {
    const match = pattern.exec(rest);
    if (match) return { region, operation, rawId: match[1] ?? "" };
  }
  return null;
}

/** The regions that a document of the interface is asked for; null where none is asked for. */
export function documentedAt(url: string, regions: readonly string[]): readonly string[] | null {
  const path = pathOf(url);
  if (path === documentPath) return regions;
  const region = regionOf(path, regions);
  return region !== undefined && path === prefixOf(region) + documentPath ? [region] : null;
}

function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? "";
}

function regionOf(path: string, regions: readonly string[]): string | undefined {
  return regions.find((name) => path.startsWith(`${prefixOf(name)}/`));
}
