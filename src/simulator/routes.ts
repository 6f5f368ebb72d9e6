import type { Operation } from "../core/model.ts";

export interface Route {
  readonly region: string;
  readonly operation: Operation;
  /** As it stands in the path, percent-encoded. Empty where the operation takes none. */
  readonly rawId: string;
}

const paths: readonly (readonly [RegExp, Operation])[] = [
  [/^local-sandbox$/, "list_sandboxes"],
  [/^user\/([^/]+)$/, "get_user"],
  [/^universes$/, "list_universes"],
  [/^universes\/([^/]+)\/initial_data$/, "get_universe_data"],
  [/^white-labeling\/get\/([^/]+)$/, "get_white_label"],
];

/** Where a region is served: one path prefix each. */
export function prefixOf(region: string): string {
  return `/${encodeURIComponent(region)}`;
}

/** Null when nothing is served there. */
export function routeOf(url: string, regions: readonly string[]): Route | null {
  const path = url.split("?", 1)[0] ?? "";
  const region = regions.find((name) => path.startsWith(`${prefixOf(name)}/`));
  if (region === undefined) return null;
  const rest = path.slice(prefixOf(region).length + 1);
  for (const [pattern, operation] of paths) {
    const match = pattern.exec(rest);
    if (match) return { region, operation, rawId: match[1] ?? "" };
  }
  return null;
}
