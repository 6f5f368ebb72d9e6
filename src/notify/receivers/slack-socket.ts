import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ping, type WebSocket } from "undici";
import { z } from "zod";
import { delay, type Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Outbound } from "../outbound.ts";
import type { Log } from "../receiver.ts";
import { backoffMs } from "../retry.ts";
import type { SlackApi } from "./slack-api.ts";

/** Slack opens about one connection a second for an app. */
const shortestPauseMs = 1_000;

/** Until a connection that was opened must have been greeted. */
const helloMs = 30_000;

/** A connection that did not answer a ping for so long is lost, though nothing closed it. */
const pingEveryMs = 30_000;

export interface SlackSocketDeps {
  /** The receivers whose messages it is for. */
  readonly receivers: readonly string[];
  readonly appToken: Secret;
  readonly api: SlackApi;
  /** Whether connections without encryption are refused. */
  readonly isEncrypted: boolean;
  readonly outbound: Pick<Outbound, "openWebSocket" | "mayAct">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether clicks can arrive. */
  readonly onState: (isConnected: boolean) => void;
  /** What somebody did. It is acknowledged once this resolves; if it rejects, Slack shows them an error. */
  readonly onInteraction: (payload: unknown) => Promise<void>;
}

/** What Slack sends, as far as it is used (https://docs.slack.dev/apis/events-api/using-socket-mode). */
const envelopeSchema = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
});

/** Why there is no connection, and how long Slack asked to wait. */
type Problem = {
  readonly detail: string;
  readonly isRefused?: boolean;
  readonly retryAfterMs?: number | null;
};

/**
 * A connection to Slack in Socket Mode, by which it sends what people do with the messages of an app. Slack replaces it
 * now and then: the next one is opened while the previous one goes on, and ends that once Slack has greeted it.
 */
export class SlackSocket {
  readonly #deps: SlackSocketDeps;
  readonly #ending = new AbortController();
  /** What stops each connection. */
  readonly #open = new Set<() => void>();
  /** Of those that Slack greeted. */
  readonly #greeted = new Set<() => void>();
  #running: Promise<void> = Promise.resolve();
  #problem: string | null = null;

  constructor(deps: SlackSocketDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    for (const stop of this.#open) stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#deps;
    const { signal } = this.#ending;
    for (let failures = 0; !signal.aborted;) {
      const problem = await this.#connect();
      failures = problem === null ? 0 : failures + 1;
      if (problem !== null && !signal.aborted) this.#report(problem);
      const waitMs = failures === 0 ? 0 : backoffMs(failures, random);
      const askedMs = problem?.retryAfterMs ?? 0;
      await delay(clock, Math.max(shortestPauseMs, waitMs, askedMs), signal);
    }
  }

  /** Resolves when another connection is needed: with null, or with why this one never worked. */
  async #connect(): Promise<Problem | null> {
    const { api, appToken, outbound, isEncrypted } = this.#deps;
    const { result, read } = await api("apps.connections.open", appToken, {}, this.#ending.signal);
    if (result.kind === "aborted" || !outbound.mayAct()) return { detail: "" };
    if (result.kind === "failed") {
      const { reason, detail, retryAfterMs } = result;
      return { detail, isRefused: reason === "gone", retryAfterMs };
    }
    const url = URL.parse(read?.url ?? "");
    if (url?.protocol !== "wss:" && (isEncrypted || url?.protocol !== "ws:")) {
      return { detail: "Slack named no address to connect to" };
    }
    return this.#serve(url);
  }

  #serve(url: URL): Promise<Problem | null> {
    const { outbound, clock } = this.#deps;
    const before = [...this.#open];
    const { socket, end } = outbound.openWebSocket(url);
    return new Promise((resolve) => {
      let isGreeted = false;
      const replace = (detail: string): void => resolve(isGreeted ? null : { detail });
      const stop = (detail = "the connection was closed"): void => {
        this.#open.delete(stop);
        if (this.#greeted.delete(stop)) this.#deps.onState(this.#greeted.size > 0);
        cancelHello();
        stopPings();
        end();
        replace(detail);
      };
      this.#open.add(stop);
      const stopPings = this.#pingUntilSilent(socket, () => stop("the connection was lost"));
      const cancelHello = clock.setTimer(helloMs, () => stop("Slack did not greet the connection"));
      socket.addEventListener("message", ({ data }) => {
        const envelope = readEnvelope(data);
        if (envelope?.type === "hello") {
          isGreeted = true;
          cancelHello();
          this.#greeted.add(stop);
          this.#connected();
          for (const stopOther of before) stopOther();
        } else if (envelope?.type === "disconnect") {
          // It goes on until the next one is greeted.
          replace("Slack refused the connection");
        } else if (envelope) void this.#receive(socket, envelope);
      });
      // Its text could contain the address, which is a secret.
      socket.addEventListener("error", () => {});
      socket.addEventListener("close", () => stop());
    });
  }

  async #receive(socket: WebSocket, envelope: z.infer<typeof envelopeSchema>): Promise<void> {
    const { type, envelope_id, payload } = envelope;
    if (envelope_id === undefined) return;
    try {
      if (type === "interactive") await this.#deps.onInteraction(payload);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      this.#deps.log.error({ event: "slack.click_failed", reason }, "a click in Slack failed");
      return;
    }
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ envelope_id }));
  }

  /** @returns what stops it */
  #pingUntilSilent(socket: WebSocket, onSilent: () => void): () => void {
    const { clock } = this.#deps;
    let isHeard = true;
    const hear = (message: unknown): void => {
      if (Object(message).websocket === socket) isHeard = true;
    };
    subscribe(pongChannel, hear);
    const next = (): (() => void) =>
      clock.setTimer(pingEveryMs, () => {
        if (!isHeard) return onSilent();
        // One that is being closed is pinged no more: it must be over before the next look.
        isHeard = socket.readyState === socket.CONNECTING;
        ping(socket);
        cancel = next();
      });
    let cancel = next();
    return () => {
      cancel();
      unsubscribe(pongChannel, hear);
    };
  }

  #connected(): void {
    const { log, receivers, onState } = this.#deps;
    this.#problem = null;
    onState(true);
    log.info(
      { event: "slack.connected", receivers: receivers.join(", ") },
      `connected to Slack, whose buttons work in the messages of ${receivers.join(", ")}`,
    );
  }

  /** Logs each problem once. */
  #report({ detail, isRefused }: Problem): void {
    const { log, receivers } = this.#deps;
    if (detail === "" || detail === this.#problem) return;
    this.#problem = detail;
    const names = receivers.join(", ");
    const fields = { event: "slack.not_connected", receivers: names, reason: detail };
    if (isRefused) {
      const what = `Slack refuses app_token of ${names} (${detail}), so the buttons in its messages do nothing: ${refusedAdvice}`;
      log.error(fields, what);
    } else {
      log.warn(fields, `the buttons in messages of ${names} do nothing at present: ${detail}`);
    }
  }
}

const pongChannel = "undici:websocket:pong";

/** What to do about an app-level token that Slack refuses. */
export const refusedAdvice =
  "it must be an app-level token with the scope connections:write (Basic Information, in the settings of the app), and Socket Mode must be on.";

function readEnvelope(data: unknown): z.infer<typeof envelopeSchema> | null {
  if (typeof data !== "string") return null;
  try {
    return envelopeSchema.safeParse(JSON.parse(data)).data ?? null;
  } catch {
    return null;
  }
}
