import type { Secret } from "../../platform/secret.ts";
import { inTime } from "../attempt.ts";
import type { DeliveryObserver, Log } from "../observer.ts";
import { createOutbound, readAnswer } from "../outbound.ts";
import type { OutboundDeps } from "../outbound.ts";
import type { Receiver, SendResult } from "../receiver.ts";
import { createRepeater } from "../repeater.ts";

export interface HeartbeatReceiverSettings {
  readonly name: string;
  readonly type: "heartbeat";
  readonly url: Secret;
  readonly everyMs: number;
  readonly method: "GET" | "POST";
}

export interface HeartbeatReceiverDeps extends OutboundDeps {
  /** Why sandwatch cannot be relied on now, for a person; null: it can. */
  readonly ailment: () => Promise<string | null>;
  readonly log: Log;
  readonly observe: Pick<DeliveryObserver, "attemptFailed">;
}

/**
 * Pings an outside dead-man's switch while sandwatch does its work, and does not while it cannot: it
 * is the silence that tells. No incident is told to it; whatever it is asked to send is one ping.
 *
 * @throws {Error} when the address cannot be used; it does not show it
 */
export function createHeartbeatReceiver(
  settings: HeartbeatReceiverSettings,
  deps: HeartbeatReceiverDeps,
): Receiver {
  const { name, everyMs, method } = settings;
  const { clock, log, observe } = deps;
  const url = parseUrl(settings);
  const outbound = createOutbound(deps);
  const closing = new AbortController();
  let withheld = false;
  let failing = false;

  const ping = async (signal: AbortSignal): Promise<SendResult> => {
    const answer = await (method === "GET"
      ? outbound.get({ url, headers: {} }, signal)
      : outbound.post({ url, headers: {}, body: "" }, signal));
    return answer.kind === "answered" ? readAnswer(answer) : answer;
  };

  const noteAilment = (ailment: string | null): void => {
    if (ailment !== null && !withheld) {
      const fields = { event: "heartbeat.withheld", receiver: name, reason: ailment };
      log.error(fields, `${name} gets no heartbeat: ${ailment}`);
    } else if (ailment === null && withheld) {
      log.info({ event: "heartbeat.resumed", receiver: name }, `${name} gets heartbeats again`);
    }
    withheld = ailment !== null;
  };

  const notePing = (result: SendResult): void => {
    if (result.kind === "failed") {
      observe.attemptFailed(name, result.reason);
      const { reason, detail } = result;
      const fields = { event: "heartbeat.failed", receiver: name, reason, detail };
      if (!failing) log.warn(fields, `${name} takes no heartbeat, the next is sent when it is due`);
    } else if (failing) {
      log.info({ event: "heartbeat.recovered", receiver: name }, `${name} takes heartbeats again`);
    }
    failing = result.kind === "failed";
  };

  const beat = async (): Promise<void> => {
    const ailment = await deps.ailment().catch(() => "the store does not answer");
    noteAilment(ailment);
    if (ailment !== null) return;
    const result = await inTime(ping, clock, closing.signal);
    if (result.kind !== "aborted") notePing(result);
  };

  const repeater = createRepeater({
    clock,
    everyMs,
    // Not at once: a process that dies soon after each start must not look alive.
    firstAfterMs: everyMs,
    turn: beat,
  });

  return {
    name,
    send: (_, signal) => ping(signal),
    start: () => repeater.start(),
    async close() {
      closing.abort();
      await repeater.stop();
      await outbound.close();
    },
  };
}

function parseUrl({ name, url }: HeartbeatReceiverSettings): URL {
  const parsed = URL.parse(url.reveal());
  if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
  throw new Error(`The url of receiver ${name} is no http or https address.`);
}
