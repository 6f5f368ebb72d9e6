import type { Presence } from "../fleet/model.ts";
import type { FlapReading } from "./flap-record.ts";
import type { IncidentPhase } from "./incident-phase.ts";
import type { ItemText, ServerNames, Share } from "./notification.ts";
import type { Rule } from "./rule.ts";
import { flappingCondition } from "./subjects.ts";

/** A condition of a rule as it was observed of a subject. */
export interface Observed {
  readonly condition: string;
  readonly detail?: string | null;
  /** How many servers are not observed because of it. */
  readonly unmonitored?: number | null;
  /** As the item of an outbox has it. */
  readonly unobservedSinceMs?: number | null;
  /** When its condition began to hold, if that was before. UTC milliseconds. */
  readonly startedAtMs?: number;
  /** This and the other optional fields are set for servers and sandboxes. */
  readonly status?: Presence;
  /** Null: the status did not change. */
  readonly previousStatus?: Presence | null;
  readonly benchmark?: string | null;
  readonly tags?: readonly string[];
  /** Of a sandbox: its servers by name. */
  readonly servers?: ServerNames | null;
  readonly share?: Share | null;
}

/** Says it for notifications. */
export function textOf(
  { summaryTemplate, runbookUrlTemplate }: Rule,
  { unobservedSinceMs = null, ...observed }: Observed,
  phase: IncidentPhase | null,
  reading: FlapReading | null,
): ItemText {
  const { condition, detail = null, unmonitored = null, servers = null, share } = observed;
  const isFlapping = reading !== null && phase?.name === "firing" && phase.flapping;
  const reason = detail === null ? "" : `, ${detail}`;
  return {
    summaryTemplate,
    runbookUrlTemplate,
    ...(isFlapping
      ? { condition: flappingCondition, detail: `${condition} ${reading.frequency}${reason}` }
      : { condition, detail }),
    unmonitored,
    servers,
    ...(unobservedSinceMs !== null && { unobservedSinceMs }),
    ...(share && { share }),
  };
}
