import { Webhook } from "standardwebhooks";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { Attempt } from "../history.ts";
import { receiverOrigin } from "../scenario.ts";
import type { ScenarioReceiver } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import { readPagerdutyEvent } from "./pagerduty-events.ts";
import { readSlackMessage } from "./slack-messages.ts";
import type { Trace } from "./trace.ts";
import type { Peer, Reaction, VirtualRequest } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

export const signingSecret = `whsec_${Buffer.from("a secret of twenty-four bytes or more").toString("base64")}`;

export const receiverTroubles = [
  "refuses",
  "fails",
  "limits",
  "hangs",
  /** It takes the message, but its answer is lost. */
  "forgets_to_answer",
  "breaks_after_taking",
  "is_slow",
  "refuses_for_good",
] as const;
export type ReceiverTrouble = (typeof receiverTroubles)[number];

/** A receiver that trusts nothing and forgets nothing. */
export interface ScriptedReceiver extends Peer {
  trouble(trouble: ReceiverTrouble, chance: number): void;
  heal(): void;
}

/** What a receiver records of a request. */
export interface Receipt {
  /** What comes of the answer is noted here. */
  readonly received: Pick<Attempt, "answered" | "refused">;
  readonly text: string;
  /** Whether it says anything new. */
  readonly isNews: boolean;
}

export interface ScriptedReceiverDeps {
  readonly name: string;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly refused: string[];
  /** Throws when the request is not what it should be. */
  readonly record: (request: VirtualRequest, taken: boolean) => Receipt;
  /** A message was taken, and its sender does not know yet. */
  readonly onTaken: () => void;
}

/** Records what comes to a receiver that gets messages. */
export function recordMessages(
  { name, type }: ScenarioReceiver,
  time: WorldTime,
  attempts: Attempt[],
): ScriptedReceiverDeps["record"] {
  const webhook = new Webhook(signingSecret);

  const readWebhook = ({
    headers,
    body,
  }: VirtualRequest): Pick<Attempt, "webhookId" | "message"> => {
    const webhookId = headers["webhook-id"] ?? "";
    const sentAt = new Date(Number(headers["webhook-timestamp"]) * 1_000);
    const signature = webhook.sign(webhookId, sentAt, body);
    if (headers["webhook-signature"] !== signature) throw new Error("the signature is wrong");
    return { webhookId, message: webhookBodySchema.parse(JSON.parse(body)) };
  };

  return (request, taken) => {
    const { nowMs: atMs } = time;
    const { sender: life, body } = request;
    const readers = {
      webhook: readWebhook,
      slack: readSlackMessage,
      pagerduty: () => readPagerdutyEvent(request, atMs),
    };
    const said = readers[type](request);
    const attempt: Attempt = {
      receiver: name,
      life,
      atMs,
      ...said,
      body,
      taken,
      answered: null,
      refused: null,
    };
    attempts.push(attempt);
    const { type: what, data } = attempt.message;
    const about = data.incidents.map(
      (each) =>
        `${each.id} (${each.region}/${each.key} ${each.sandbox_id ?? ""} ${each.server_id ?? ""})`,
    );
    const text = `${attempt.webhookId.slice(0, 10)}: ${data.rule} ${what} ${about.join(", ")}`;
    return { received: attempt, text, isNews: true };
  };
}

export function createScriptedReceiver(deps: ScriptedReceiverDeps): ScriptedReceiver {
  const { name, time, dice, trace, refused, record } = deps;
  let present: { readonly trouble: ReceiverTrouble; readonly chance: number } | null = null;

  type Received = Receipt["received"];

  const answer = (status: number, afterMs: number, received: Received, retryAfter?: number) => {
    const onWhole = (): void => {
      const { moment, nowMs, utcMs } = time;
      if (status < 300) received.answered = { moment, atMs: nowMs };
      if (status === 400 || status === 410) received.refused = { moment, utcMs };
    };
    const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
    return {
      kind: "answers",
      afterMs,
      status,
      headers,
      chunks: status < 300 ? ["ok"] : [],
      chunkMs: 1,
      onWhole,
    } satisfies Reaction;
  };

  const react = (trouble: ReceiverTrouble | null, received: Received): Reaction => {
    const soonMs = dice.between(1, 900);
    switch (trouble) {
      case null:
        return answer(dice.pick([200, 204]), soonMs, received);
      case "is_slow":
        return answer(200, dice.between(3_000, 14_000), received);
      case "forgets_to_answer":
      case "hangs":
        return { kind: "hangs" };
      case "refuses":
        return { kind: "breaks", afterMs: soonMs, code: "ECONNREFUSED" };
      case "breaks_after_taking":
        return { kind: "breaks", afterMs: soonMs, code: "ECONNRESET" };
      case "fails":
        return answer(dice.pick([500, 502, 503, 408]), soonMs, received);
      case "refuses_for_good":
        return answer(dice.pick([400, 410]), soonMs, received);
      case "limits":
        return answer(429, soonMs, received, dice.between(1, 1_200));
    }
  };

  return {
    origin: receiverOrigin(name),
    receive(request) {
      const trouble = present && dice.chance(present.chance) ? present.trouble : null;
      const taken =
        trouble === null ||
        ["is_slow", "forgets_to_answer", "breaks_after_taking"].includes(trouble);
      try {
        const { received, text, isNews } = record(request, taken);
        const did = taken ? (trouble ?? "takes") : `${trouble}, and does not take`;
        if (isNews) trace.tell(`${name} ${did} ${text}`);
        else trace.mark(`${name} ${did} ${text}`);
        const reaction = react(trouble, received);
        if (taken && isNews) deps.onTaken();
        return reaction;
      } catch (error) {
        refused.push(`${name} refused a message: ${String(error)}`);
        return { kind: "answers", afterMs: 1, status: 400, chunks: [], chunkMs: 0 };
      }
    },
    trouble(trouble, chance) {
      present = { trouble, chance };
      trace.tell(`${name} ${trouble} in ${Math.round(chance * 100)}% of answers`);
    },
    heal() {
      if (present) trace.tell(`${name} is well again`);
      present = null;
    },
  };
}
