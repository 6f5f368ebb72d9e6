import type { z } from "zod";
import type { PagerdutyEvent } from "../notify/support/pagerduty-event.ts";
import type { webhookBodySchema } from "../support/webhook-body.ts";
import type { Stage } from "./draw/receivers.ts";
import type { ScenarioRule } from "./draw/rules.ts";

/** Times are milliseconds since the world began unless they are called UTC. */

/** Between two moments everything comes to rest. */
export interface Moment {
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
}

/** A request and its answer, as the network has them. */
export interface ExchangeRecord {
  readonly sentMs: number;
  /** Null: it has not ended, or the process ended first. */
  end: ExchangeEnd | null;
}

export interface ExchangeEnd extends Moment {
  /** `abandoned`: by the process, for example at its timeout. */
  readonly how: "whole" | "broken" | "abandoned";
}

export interface SentAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A request that came to the service. */
export interface ServiceRequest {
  /** The region and the key that it was made with. */
  readonly target: string;
  readonly key: string;
  readonly path: string;
  readonly life: number;
  readonly atMs: number;
  /** Null: nothing was sent in reply. */
  readonly answer: SentAnswer | null;
  readonly exchange: ExchangeRecord;
}

/** `unknown`: the service did not state one of the others. */
export const statuses = ["idle", "occupied", "error", "unknown"] as const;
export type Status = (typeof statuses)[number];
export type Presence = Status | "absent";
export type ByStatus<T> = Readonly<Record<Status, T>>;

export type Message = z.infer<typeof webhookBodySchema>;

/** A request that came to a receiver. */
interface Received {
  readonly life: number;
  readonly atMs: number;
  readonly taken: boolean;
  /** When the process had received the whole acceptance; null: it never did. */
  answered: Moment | null;
  /** When the process had received a permanent refusal; null: it did not. */
  refused: Moment | null;
}

/** A message that came to a receiver. */
export interface Attempt extends Received {
  readonly receiver: string;
  readonly webhookId: string;
  readonly body: string;
  readonly message: Message;
}

/** An event that came to PagerDuty. */
export interface Page extends Received {
  readonly event: PagerdutyEvent;
}

/** One process, from its start to its end. */
export interface Life {
  readonly number: number;
  readonly startMs: number;
  /** What it was configured with. */
  readonly rules: readonly ScenarioRule[];
  readonly stage: Stage;
  /** Since when it polls; null: it did not get that far. */
  watchMs: number | null;
  /** When it was asked to stop or was killed; null: it still runs. */
  lastPollMs: number | null;
  /** Null: it still runs. */
  ended: LifeEnd | null;
  endMoment: number | null;
  endMs: number | null;
}

export type LifeEnd =
  | { readonly how: "killed" | "stopped" }
  | { readonly how: "could not start" | "stopped badly"; readonly error: string };

/** From `fromMs` on, the wall clock is `offsetMs` ahead of the world's time. */
export interface WallClock {
  readonly fromMs: number;
  readonly offsetMs: number;
}

/** A call of the API. */
export interface ApiCall extends Moment {
  /** Whether the process accepted it; if not, it may have been done nevertheless. */
  sure: boolean;
}

export interface AddedSilence {
  /** Null: nobody knows whether it was added. */
  id: string | null;
  /** Null stands for all. */
  readonly match: {
    readonly rules: readonly string[];
    readonly target: string | null;
    readonly sandbox: string | null;
    readonly server: string | null;
  };
  readonly added: ApiCall;
  readonly endsUtcMs: number;
  expired: ApiCall | null;
}

export interface Acknowledgement extends ApiCall {
  readonly incidentId: string;
  /** Null: when the incident resolves. */
  readonly endsUtcMs: number | null;
}

/** A poll that was written to the store. */
export interface StoredPoll extends Moment {
  readonly target: string;
  readonly life: number;
}

/** An incident of a server, a sandbox, a target or a region as it was written to the store. */
export interface StoredIncident extends Moment {
  readonly id: string;
  readonly rule: string;
  readonly region: string;
  /** Null: a region. */
  readonly target: string | null;
  /** By sandbox and server id; of a sandbox its id alone. */
  readonly server: string | null;
  readonly startedUtcMs: number;
  readonly phase: "pending" | "firing" | "over";
  /** Whether its condition does not hold any more, though it fires. */
  readonly isClearing: boolean;
  readonly isFlapping: boolean;
  readonly isNotified: boolean;
  readonly receivers: readonly string[];
  readonly inhibitedBy: string | null;
}

/** A run of a probe whose result was written to the store. */
export interface StoredRun extends Moment {
  readonly probe: string;
  readonly target: string;
  readonly life: number;
}

/** In UTC. */
export const resolutionMs = {
  "5m": 300_000,
  "15m": 900_000,
  "1h": 3_600_000,
  "1d": 86_400_000,
} as const;
export type Resolution = keyof typeof resolutionMs;

/** What a bucket holds of the servers of one name. */
export interface Account {
  readonly ms: ByStatus<number>;
  readonly unobservedMs: number;
  readonly peaks: { readonly occupied: number; readonly servers: number } | null;
  readonly exhaustedMs: number;
  /** Of the dwell times in `occupied` that ended: how many are in each bucket of the histogram. */
  readonly dwells: { readonly counts: readonly number[]; readonly sumMs: number };
}

export interface Bucket {
  readonly startMs: number;
  readonly recordedMs: number;
  readonly unobservedMs: number;
  readonly names: ReadonlyMap<string, Account>;
}

export interface StoredChange {
  readonly atMs: number;
  readonly sandboxId: string;
  /** Null: it is a change of the sandbox. */
  readonly serverId: string | null;
  readonly from: Presence;
  readonly to: Presence;
  readonly dwellMs: number | null;
  readonly observation: "missing" | "seen" | "updated" | null;
}

/** A period in UTC. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the store has of a target at the end. */
export interface StoredHistory {
  readonly gaps: readonly Period[];
  readonly changes: readonly StoredChange[];
}

export interface Scrape extends Moment {
  readonly life: number;
  /** The status of `/-/ready`; null: no answer. */
  readonly ready: number | null;
  /** Null: no answer. */
  readonly metrics: string | null;
}

export interface Heartbeat {
  readonly life: number;
  readonly sentMs: number;
  readonly atMs: number;
}

/** A time in which the store took nothing. */
export interface StoreOutage {
  readonly fromMs: number;
  /** Infinity until it is over. */
  toMs: number;
  /** The first does not even answer. */
  readonly what: "refuses everything" | "is read-only";
}

/** All that is recorded of a run. */
export interface Recorded {
  readonly lives: readonly Life[];
  readonly wallClocks: readonly WallClock[];
  /** When each moment was due. */
  readonly dueMs: readonly number[];
  /** For how long the process was held up in a moment. */
  readonly stalls: ReadonlyMap<number, number>;
  readonly endMs: number;
  readonly requests: readonly ServiceRequest[];
  readonly attempts: readonly Attempt[];
  readonly pages: readonly Page[];
  readonly heartbeats: readonly Heartbeat[];
  readonly scrapes: readonly Scrape[];
  /** What peers refused, such as a wrong signature. */
  readonly refused: readonly string[];
  readonly silences: readonly AddedSilence[];
  readonly acknowledgements: readonly Acknowledgement[];
  readonly storeOutages: readonly StoreOutage[];
  /** The moments in which the store refused something, with the process. */
  readonly storeFaults: ReadonlyMap<number, number>;
  /** The moments in which the store committed. */
  readonly commits: ReadonlySet<number>;
  readonly storedPolls: readonly StoredPoll[];
  /** Those that changed nothing, and of which the process had not written the clocks when it ended. */
  readonly unsavedPolls: readonly StoredPoll[];
  /** Those that sent nothing, as the key had been refused, and count as no polls. */
  readonly storedBackOffs: readonly StoredPoll[];
  /** By id, each as it was from a commit on. */
  readonly storedIncidents: ReadonlyMap<string, readonly StoredIncident[]>;
  readonly storedRuns: readonly StoredRun[];
  /** What waits in the store at the end. */
  readonly left: readonly string[];
  readonly stored: ReadonlyMap<string, StoredHistory>;
}
