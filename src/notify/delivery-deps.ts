import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { ReceiverJudgeOptions } from "../core/judge-receivers.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { DeliveryClock } from "./delivery-clock.ts";
import type { DeliveryObserver, Log } from "./observer.ts";
import type { Outbox } from "./outbox.ts";

/** What the delivery to any receiver stands on. */
export interface DeliveryDeps {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly deliveryClock: DeliveryClock;
  readonly random: Random;
  readonly log: Log;
  readonly observe: DeliveryObserver;
  /** Who is told when a receiver takes nothing. */
  readonly judge: ReceiverJudgeOptions;
  /** What was judged of a receiver was committed, and there may be more to tell. */
  readonly onJudged: (outcome: IncidentOutcome) => void;
  /** A receiver's worker woke and looked at the outbox. */
  readonly onTurn?: (receiver: string) => void;
}
