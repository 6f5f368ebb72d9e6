import { z } from "zod";
import type { Operation, Target } from "../fleet/model.ts";
import { RefusedError } from "../lib/refused-error.ts";
import type { Secret } from "../lib/secret.ts";
import type { Admission, Granted } from "../polling/key-limits.ts";
import type { Call, CallResult } from "../service/client.ts";
import { canStandInPath } from "../service/operations.ts";
import type { ServiceCalls } from "./context.ts";

/** What operations have in common that call the service. */

/** In a URL an id may take nine times as many bytes, which fits. */
const longestId = 1_000;

export const idAllowed = `an id of 1 to ${longestId} characters, other than . and ..`;

/** An id that a request to the service can have in its path. */
export const serviceId = z
  .string(idAllowed)
  .max(longestId, idAllowed)
  .refine((id) => canStandInPath(id), idAllowed)
  .optional();

/** Which key to use in which region. Needed only if there are several. */
export const targetChoice = {
  region: z.string("the name of a configured region").optional(),
  key: z.string("the name of a configured key").optional(),
};

interface ChosenTarget {
  readonly target: Target;
  readonly apiKey: Secret;
}

/** Further choices are not listed. */
const mostListed = 30;

/** @throws {RefusedError} when not exactly one target fits; the message lists the choices */
export function chooseTarget(
  { targets: all, keys }: Pick<ServiceCalls, "targets" | "keys">,
  choice: { readonly region?: string | undefined; readonly key?: string | undefined },
): ChosenTarget {
  const fitting = all.filter(
    ({ region, key }) => region === (choice.region ?? region) && key === (choice.key ?? key),
  );
  const [target, ...others] = fitting;
  const apiKey = keys.find(({ name }) => name === target?.key)?.apiKey;
  if (target && apiKey && others.length === 0) return { target, apiKey };
  const choices = (target ? fitting : all).map(({ region, key }) => `${region}/${key}`);
  const more = choices.length > mostListed ? ", ..." : "";
  const allowed = choices.slice(0, mostListed).join(", ") + more;
  const what = target ? "Several targets match" : "No target matches";
  const message = `${what}. Choose one by region and key (--region, --key): ${allowed}.`;
  throw new RefusedError("invalid", message, [{ path: "region", allowed }]);
}

/** Calls the service with a token of the key's limit, and honours `Retry-After`. Nothing is sent without a token. */
export async function callWithToken<Value>(
  { limits, clock, signal, maxBodyBytes, recordDrift }: ServiceCalls,
  { target, apiKey }: ChosenTarget,
  operation: Operation,
  longestWaitMs: number,
  send: (call: Call, granted: Granted) => Promise<CallResult<Value>>,
): Promise<CallResult<Value> | Exclude<Admission, Granted>> {
  const deadlineMs = clock.now().monotonicMs + longestWaitMs;
  const granted = await limits.admit(target, deadlineMs, signal);
  if (granted.kind !== "granted") return granted;
  const { sent: onSent, ended } = granted;
  const call = { region: target.region, apiKey, signal, maxBodyBytes, onSent };
  const result = await send(call, granted).finally(ended);
  recordDrift({ region: target.region, operation, deviations: result.deviations });
  if (result.kind === "failed" && result.retryAfterMs !== null) {
    limits.pause(target, clock.now().monotonicMs + result.retryAfterMs);
  }
  return result;
}
