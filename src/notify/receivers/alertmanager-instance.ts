import type { Clock } from "../../platform/clock.ts";
import type { Secret } from "../../platform/secret.ts";
import { inTime, type AttemptResult } from "../attempt.ts";
import type { Log } from "../observer.ts";
import { readAnswer, type Outbound } from "../outbound.ts";
import type { AttemptFailure, SendResult } from "../receiver.ts";
import type { PostableAlert } from "./alertmanager-alert.ts";

export interface InstanceDeps {
  readonly receiver: string;
  /** Counted from 1, in the order of the configuration: its address is not shown. */
  readonly number: number;
  readonly url: Secret;
  readonly bearerToken: Secret | null;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
}

/** One Alertmanager of several. */
export interface Instance {
  /**
   * Posts batches one after the other, as far as it takes them; each has its own time-out. Never
   * rejects.
   */
  post(batches: Iterable<readonly PostableAlert[]>, signal: AbortSignal): Promise<AttemptResult>;
}

/**
 * What one that hangs is given at most at a time: each message that another instance takes meanwhile
 * would leave one more connection open.
 */
const mostUnderWay = 8;

const busy: AttemptFailure = {
  kind: "failed",
  reason: "timeout",
  detail: "earlier alerts are still unanswered",
  retryAfterMs: null,
};

/** @throws {Error} when the address cannot be used; it does not show it */
export function createInstance(deps: InstanceDeps): Instance {
  const { clock, outbound, log, receiver, number } = deps;
  const url = alertsUrl(deps);
  const headers = {
    "content-type": "application/json",
    ...(deps.bearerToken && { authorization: `Bearer ${deps.bearerToken.reveal()}` }),
  };
  let failing = false;
  let underWay = 0;

  const postBatch = async (
    batch: readonly PostableAlert[],
    signal: AbortSignal,
  ): Promise<SendResult> => {
    const body = JSON.stringify(batch);
    const answer = await outbound.post({ url, body, headers }, signal);
    return answer.kind === "answered" ? readAnswer(answer) : answer;
  };

  const note = (result: SendResult): void => {
    if ((result.kind === "failed") === failing) return;
    failing = result.kind === "failed";
    const fields = { receiver, instance: number };
    if (result.kind === "delivered") {
      const text = `${receiver}: Alertmanager ${number} takes alerts again`;
      return log.info({ event: "alertmanager.recovered", ...fields }, text);
    }
    const { reason, detail } = result;
    log.warn(
      { event: "alertmanager.failed", ...fields, reason, detail },
      `${receiver}: Alertmanager ${number} takes no alerts, they are posted again each minute`,
    );
  };

  const postAll = async (
    batches: Iterable<readonly PostableAlert[]>,
    signal: AbortSignal,
  ): Promise<AttemptResult> => {
    let refused: AttemptFailure | null = null;
    let posted = false;
    for (const batch of batches) {
      posted = true;
      const result = await inTime((either) => postBatch(batch, either), clock, signal);
      if (result.kind === "aborted") return result;
      if (result.kind === "delivered") continue;
      refused = result;
      // Where a batch was refused the next may be taken; an instance that is down takes none.
      if (result.reason !== "rejected") break;
    }
    const result = refused ?? { kind: "delivered" as const };
    if (posted) note(result);
    return result;
  };

  return {
    async post(batches, signal) {
      if (underWay >= mostUnderWay) return busy;
      underWay += 1;
      try {
        return await postAll(batches, signal);
      } finally {
        underWay -= 1;
      }
    },
  };
}

function alertsUrl({ url, receiver, number }: InstanceDeps): URL {
  const parsed = URL.parse(`${url.reveal().replace(/\/+$/, "")}/api/v2/alerts`);
  if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
  throw new Error(`Address ${number} of receiver ${receiver} is no http or https address.`);
}
