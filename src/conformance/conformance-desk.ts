import { z } from "zod";
import { RefusedError } from "../core/refusal.ts";
import type { Target } from "../core/model.ts";
import { readRequest } from "../interventions/requests.ts";
import { chooseTarget } from "../lookups/choose-target.ts";
import { idText } from "../lookups/requests.ts";
import type { Secret } from "../platform/secret.ts";
import { checkConformance, type ConformanceDeps } from "./check-conformance.ts";
import type { ConformanceView } from "./views.ts";

const id = idText("an id of 1 to 1000 characters, other than . and ..").optional();

export const conformanceIds = z.strictObject({ user: id, universe: id, client: id });

export const conformanceRequest = conformanceIds.extend({
  region: z.string().optional(),
  key: z.string().optional(),
});
export type ConformanceRequest = z.input<typeof conformanceRequest>;

/** Whether the service keeps to its interface, asked for on request. */
export interface ConformanceDesk {
  conformance(request: ConformanceRequest): Promise<ConformanceView>;
}

export interface ConformanceDeskDeps extends ConformanceDeps {
  readonly targets: readonly Target[];
  readonly keys: readonly { readonly name: string; readonly apiKey: Secret }[];
}

export function createConformanceDesk(deps: ConformanceDeskDeps): ConformanceDesk {
  let isBusy = false;
  return {
    async conformance(request) {
      const { region, key, ...ids } = readRequest(conformanceRequest, request);
      const target = chooseTarget(deps.targets, { region, key });
      const apiKey = deps.keys.find(({ name }) => name === target.key)?.apiKey;
      if (!apiKey) throw new TypeError("A target must have a configured key");
      // Answers are held in memory as a whole.
      if (isBusy) throw new RefusedError("conflict", "A check is under way already. Wait for it.");
      isBusy = true;
      try {
        const report = await checkConformance(deps, target, apiKey, ids);
        return { ...report, key: target.key };
      } finally {
        isBusy = false;
      }
    },
  };
}
