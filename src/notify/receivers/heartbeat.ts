import type { ConfigOf } from "../../config/schema-receivers.ts";
import { parseReceiverUrl, type SenderDeps } from "../outbound.ts";
import type { DeliveryObserver, Log, Receiver, SendResult } from "../receiver.ts";
import { createRepeater } from "../repeater.ts";

export interface HeartbeatDeps extends SenderDeps {
  readonly log: Log;
  readonly observe: Pick<DeliveryObserver, "attemptFailed">;
  /** Why sandwatch cannot be relied on at present, for a person; null: it can. */
  readonly healthProblem: () => Promise<string | null>;
}

/**
 * Pings an external dead man's switch while sandwatch does its work, and does not while it cannot. It is notified of no
 * incident; a test sends one ping.
 */
export function createHeartbeatReceiver(
  settings: Pick<ConfigOf<"heartbeat">, "name" | "url" | "everyMs" | "method" | "headers">,
  { outbound, clock, log, observe, healthProblem }: HeartbeatDeps,
): Receiver {
  const { name: receiver, everyMs, method, headers: secretHeaders } = settings;
  const url = parseReceiverUrl(settings);
  const closing = new AbortController();
  let withheld = false;
  let failing = false;

  const ping = (signal: AbortSignal): Promise<SendResult> =>
    outbound.send({ url, method, secretHeaders, ...(method === "POST" && { body: "" }) }, signal);

  const noteProblem = (problem: string | null): void => {
    if (problem !== null && !withheld) {
      const fields = { event: "heartbeat.withheld", receiver, reason: problem };
      log.error(fields, `${receiver}: no heartbeat is sent: ${problem}`);
    } else if (problem === null && withheld) {
      log.info({ event: "heartbeat.resumed", receiver }, `${receiver}: heartbeats are sent again`);
    }
    withheld = problem !== null;
  };

  const notePing = (result: SendResult): void => {
    if (result.kind === "aborted") return;
    if (result.kind === "failed") {
      const { reason, detail } = result;
      observe.attemptFailed(receiver, reason);
      const fields = { event: "heartbeat.failed", receiver, reason, detail };
      if (!failing)
        log.warn(fields, `${receiver}: the heartbeat failed; the next one is sent when it is due`);
    } else if (failing) {
      log.info({ event: "heartbeat.recovered", receiver }, `${receiver}: heartbeats succeed again`);
    }
    failing = result.kind === "failed";
  };

  const repeater = createRepeater({
    clock,
    everyMs,
    // Not at once: a process that ends soon after each start must not look healthy.
    firstAfterMs: everyMs,
    async run() {
      const problem = await healthProblem().catch(() => "the store does not answer");
      noteProblem(problem);
      if (problem === null) notePing(await ping(closing.signal));
    },
  });

  return {
    name: receiver,
    send: (_, signal) => ping(signal),
    start: () => repeater.start(),
    async close() {
      closing.abort();
      await repeater.stop();
    },
  };
}
