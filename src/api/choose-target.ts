import { z } from "zod";
import { nearestName } from "../config/nearest-name.ts";
import type { Target } from "../fleet/model.ts";
import { RefusedError } from "../lib/refusal.ts";
import type { Secret } from "../lib/secret.ts";
import type { ServiceContext } from "./context.ts";

/** Which key to use in which region. Not needed where there is only one. */
export const targetChoice = z.strictObject({
  region: z.string("the name of a configured region").optional(),
  key: z.string("the name of a configured key").optional(),
});
type TargetChoice = z.output<typeof targetChoice>;

/** A longer list of names is cut. */
const mostNamed = 30;

/**
 * Chooses the target of a call, and its API key.
 *
 * @throws {RefusedError} when not exactly one target fits; the message lists the choices
 */
export function chooseTarget(
  { targets, keys }: Pick<ServiceContext, "targets" | "keys">,
  choice: TargetChoice,
): { readonly target: Target; readonly apiKey: Secret } {
  const target = fittingTarget(
    targets.map((each) => each.target),
    choice,
  );
  const key = keys.find(({ name }) => name === target.key);
  if (!key) throw new TypeError("A target must have a configured key");
  return { target, apiKey: key.apiKey };
}

function fittingTarget(targets: readonly Target[], choice: TargetChoice): Target {
  const regions = [...new Set(targets.map(({ region }) => region))];
  const keys = [...new Set(targets.map(({ key }) => key))];
  checkName("region", choice.region, regions);
  checkName("key", choice.key, keys);
  const fitting = targets.filter(
    ({ region, key }) => (choice.region ?? region) === region && (choice.key ?? key) === key,
  );
  const [only, ...others] = fitting;
  if (!only) throw notTogether(targets, choice);
  if (others.length === 0) return only;
  const open = (["region", "key"] as const).flatMap((what) => {
    const names = [...new Set(fitting.map((target) => target[what]))];
    return names.length > 1 ? [{ what, names }] : [];
  });
  throw new RefusedError(
    "invalid",
    open
      .map(
        ({ what, names }) =>
          `There are several ${what}s. Choose one (--${what}): ${listed(names)}.`,
      )
      .join("\n"),
    open.map(({ what, names }) => ({ path: what, allowed: listed(names) })),
  );
}

function checkName(
  what: "region" | "key",
  name: string | undefined,
  known: readonly string[],
): void {
  if (name === undefined || known.includes(name)) return;
  const nearest = nearestName(name, known);
  const hint = nearest === null ? "" : ` Did you mean ${JSON.stringify(nearest)}?`;
  throw new RefusedError(
    "invalid",
    `There is no ${what} ${JSON.stringify(name)}. Configured: ${listed(known)}.${hint}`,
    [{ path: what, allowed: listed(known) }],
  );
}

function notTogether(
  targets: readonly Target[],
  { region = "", key = "" }: TargetChoice,
): RefusedError {
  const regions = targets.flatMap((target) => (target.key === key ? [target.region] : []));
  return new RefusedError(
    "invalid",
    `The key ${key} is not used in the region ${region}. Its regions: ${listed(regions)}.`,
    [{ path: "region", allowed: listed(regions) }],
  );
}

function listed(names: readonly string[]): string {
  const more = names.length > mostNamed ? `, and ${names.length - mostNamed} more` : "";
  return names.slice(0, mostNamed).join(", ") + more;
}
