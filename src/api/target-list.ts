import { z } from "zod";
import type { Target } from "../fleet/model.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import type { StoreContext } from "./context.ts";
import { listOf, previousNext } from "./fields.ts";

/** What operations on the current state of targets and servers need. */
export type FleetContext = Pick<StoreContext, "targets" | "rules" | "receivers" | "probes">;

/** A name of something that the service or the configuration named. */
export const name = z.string().min(1).max(1_000);

export const targetFields = {
  region: listOf(name).describe("Names of regions"),
  key: listOf(name).describe("Names of keys"),
};

/** The chosen targets, by region and key. An empty list chooses all. */
export function selectTargets(
  targets: readonly WatchedView[],
  { region, key }: { readonly region: readonly string[]; readonly key: readonly string[] },
): readonly WatchedView[] {
  return targets
    .filter(
      ({ target }) =>
        (region.length === 0 || region.includes(target.region)) &&
        (key.length === 0 || key.includes(target.key)),
    )
    .toSorted((a, b) => compareTargets(a.target, b.target));
}

export function compareTargets(a: Target, b: Target): number {
  if (a.region !== b.region) return a.region < b.region ? -1 : 1;
  return a.key === b.key ? 0 : a.key < b.key ? -1 : 1;
}

/** The names of the last entry of the previous page, so that later changes move no other entry. */
export function cursorOf<Names extends z.ZodType<readonly string[]>>(schema: Names) {
  return z
    .string(previousNext)
    .max(8_000, previousNext)
    .transform((written, context): z.output<Names> => {
      const read = schema.safeParse(parseJson(Buffer.from(written, "base64url").toString()));
      if (read.success) return read.data;
      context.addIssue({ code: "custom", message: previousNext });
      return z.NEVER;
    })
    .optional()
    .describe("`next` of the previous page");
}

export function cursorText(lastNames: readonly string[]): string {
  return Buffer.from(JSON.stringify(lastNames)).toString("base64url");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
