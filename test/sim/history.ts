import type { z } from "zod";
import type { PostedAlert } from "../support/postable-alerts.ts";
import type { webhookBodySchema } from "../support/webhook-body.ts";
import type { ScenarioRule } from "./scenario.ts";
import type { Stage } from "./stages.ts";
import type { ExchangeRecord } from "./support/virtual-network.ts";

/** Times are milliseconds since the world began unless they are called UTC. */

/** What the service sent in reply to a request. */
export interface SentAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A request that came to the service. */
export interface ServiceRequest {
  /** The key and the region that it was made with, whatever it asked for. */
  readonly target: string;
  readonly key: string;
  readonly path: string;
  readonly life: number;
  /** When it came to the service. */
  readonly atMs: number;
  /** Null: nothing was sent in reply. */
  readonly answer: SentAnswer | null;
  /** When it was sent, and what came of it for the process that sent it. */
  readonly exchange: ExchangeRecord;
}

/** A listing that came whole to a process that ran, as the oracle reads it. */
export interface Sighting {
  readonly target: string;
  readonly life: number;
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
  /** Whether nothing is missing from it. */
  readonly complete: boolean;
  /** By sandbox and server id, what it said of each server. */
  readonly shown: ReadonlyMap<string, ShownServer>;
  /** Which of all requests it answered. */
  readonly request: number;
}

export interface ShownServer {
  readonly status: Status;
  readonly name: string;
}

/** `unknown`: the service did not state one of the others. */
export const statuses = ["idle", "occupied", "error", "unknown"] as const;
export type Status = (typeof statuses)[number];
export type Presence = Status | "absent";

export type Message = z.infer<typeof webhookBodySchema>;

/** A request that came to a receiver. */
interface Received {
  readonly life: number;
  readonly atMs: number;
  /** Whether the receiver took it. */
  readonly taken: boolean;
  /** When its yes had come to the process whole; null: it never did. */
  answered: { readonly moment: number; readonly atMs: number } | null;
  /** When it had heard that this is not and never will be taken; null: it did not. */
  refused: { readonly moment: number; readonly utcMs: number } | null;
}

/** A message that came to a receiver. */
export interface Attempt extends Received {
  readonly receiver: string;
  readonly webhookId: string;
  readonly body: string;
  readonly message: Message;
}

/** Alerts that came to the Alertmanager. */
export interface Post extends Received {
  readonly sentMs: number;
  readonly alerts: readonly PostedAlert[];
}

export type LifeEnd =
  | { readonly how: "killed" | "stopped" }
  | { readonly how: "could not start" | "stopped badly"; readonly error: string };

/** One process, from its start to its end. */
export interface Life {
  readonly number: number;
  readonly startMs: number;
  readonly startMoment: number;
  /** What it was configured with. */
  readonly rules: readonly ScenarioRule[];
  readonly stage: Stage;
  /** Since when it polls; null: it did not get that far. */
  watchMs: number | null;
  /** When it was told to stop or was killed, whichever came first; null: it still runs. */
  lastPollMs: number | null;
  /** Null: it still runs. */
  ended: LifeEnd | null;
  endMoment: number | null;
  endMs: number | null;
}

/** The wall clock was stepped: from then on it is `offsetMs` ahead of the world's time. */
export interface WallClock {
  readonly fromMs: number;
  readonly offsetMs: number;
}

/** Somebody called the API of a process that may have died of it. */
export interface Asked {
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
  /** Whether the process said yes; if not, it may have been done nevertheless. */
  sure: boolean;
}

/** A silence that somebody asked for; null stands for all of them. */
export interface AddedSilence {
  /** Null: nobody knows whether it was added. */
  id: string | null;
  readonly match: {
    readonly rules: readonly string[];
    readonly target: string | null;
    readonly sandbox: string | null;
    readonly server: string | null;
  };
  readonly asked: Asked;
  readonly endsUtcMs: number;
  /** When somebody asked for its end. */
  expired: Asked | null;
}

export interface Acknowledged extends Asked {
  readonly incidentId: string;
}

/** A poll that was written to the store of a target. */
export interface KeptPoll {
  readonly target: string;
  readonly life: number;
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
}

/** A run of a probe that was written to the store. */
export interface KeptRun {
  readonly probe: string;
  readonly target: string;
  readonly life: number;
  /** False: nothing was sent, as the key had been refused, and it counts as no run. */
  readonly isCounted: boolean;
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
}

/** By name. In UTC: five minutes, an hour, a day. */
export const resolutionMs = { "5m": 300_000, "1h": 3_600_000, "1d": 86_400_000 } as const;
export type Resolution = keyof typeof resolutionMs;
export const resolutions = ["5m", "1h", "1d"] as const;

export type ByStatus<T> = Readonly<Record<Status, T>>;

export interface Extent {
  readonly least: ByStatus<number>;
  readonly most: ByStatus<number>;
}

/** What is kept of the dwell times in `occupied` that ended. Milliseconds. */
export interface KeptDwells {
  /** How many there were in each bucket of the histogram. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export interface KeptAccount {
  readonly ms: ByStatus<number>;
  readonly unobservedMs: number;
  readonly extent: Extent | null;
  readonly exhaustedMs: number;
  readonly dwells: KeptDwells;
}

export interface KeptBucket {
  readonly startMs: number;
  readonly recordedMs: number;
  readonly unobservedMs: number;
  readonly extent: Extent | null;
  readonly names: ReadonlyMap<string, KeptAccount>;
}

export interface KeptChange {
  readonly atMs: number;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly from: Presence;
  readonly to: Presence;
  readonly dwellMs: number | null;
  readonly observation: "missing" | "seen" | null;
}

/** Time in which nobody observed a target. UTC. */
export interface KeptGap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the store has of a target at the end. */
export interface KeptHistory {
  /** By their beginning. */
  readonly gaps: readonly KeptGap[];
  readonly buckets: ReadonlyMap<Resolution, readonly KeptBucket[]>;
  /** With the gaps of observation. */
  readonly changes: readonly KeptChange[];
}

/** What a process answered when it was asked how it does. */
export interface Scrape {
  readonly life: number;
  readonly moment: number;
  readonly atMs: number;
  /** The status of `/-/ready`; null: it gave none. */
  readonly ready: number | null;
  /** Null: it gave none. */
  readonly metrics: string | null;
}

/** A heartbeat that came. */
export interface Ping {
  readonly life: number;
  readonly sentMs: number;
  readonly atMs: number;
}

/** A time in which the store of a process took nothing. */
export interface StoreOutage {
  readonly fromMs: number;
  /** Infinity until it is over. */
  toMs: number;
  /** Whose store it was; null: of all processes of the time. */
  readonly life: number | null;
  /** The first and the last do not even answer. */
  readonly what: "refuses everything" | "is read-only" | "was replaced";
}

/** What a process logged of its store. */
export interface StoreLogLine {
  readonly life: number;
  readonly atMs: number;
  readonly event: string;
  /** Of a row that cannot be read: its table. */
  readonly table: string | null;
}

/** Somebody queried the store, or started another process on it. */
export interface Onlook {
  readonly what: "queries" | "another process";
  /** The process that ran, or was the last to. */
  readonly life: number;
  readonly moment: number;
  readonly atMs: number;
  /** Null: queries were answered, or the process was let in. */
  readonly error: string | null;
  /** Whether anything was written meanwhile, in which the process that ran did nothing. */
  readonly isChanged: boolean;
  /** By target and status, how many servers the answers showed. */
  readonly servers: ReadonlyMap<string, ReadonlyMap<string, number>> | null;
}

/** What a row was about that cannot be read any more. */
export type DamageEffect =
  | { readonly kind: "nothing" }
  | { readonly kind: "silence"; readonly id: string }
  /** What one receiver was to be notified of. */
  | {
      readonly kind: "message";
      readonly receiver: string;
      readonly type: string;
      readonly incidents: readonly string[];
    }
  | ({ readonly kind: "flaps" } & DamagedSubject)
  | ({ readonly kind: "incident"; readonly id: string } & DamagedSubject)
  | { readonly kind: "servers"; readonly target: string; readonly servers: readonly string[] }
  /** As JSON: its time, server, statuses, dwell time and observation. */
  | { readonly kind: "change"; readonly target: string; readonly line: string }
  | {
      readonly kind: "bucket";
      readonly target: string;
      readonly resolution: Resolution;
      readonly startMs: number;
    };

export interface DamagedSubject {
  readonly rule: string;
  readonly target: string;
  /** By sandbox and server id. */
  readonly server: string;
}

/** A row was spoilt before a process started: neither that one nor a later one can read it. */
export interface Damage {
  readonly life: number;
  readonly table: string;
  readonly effect: DamageEffect;
}

/** All that is recorded of a run. */
export interface Recorded {
  readonly damages: readonly Damage[];
  readonly onlooks: readonly Onlook[];
  readonly storeOutages: readonly StoreOutage[];
  readonly storeLog: readonly StoreLogLine[];
  readonly requests: readonly ServiceRequest[];
  readonly attempts: readonly Attempt[];
  /** What came to the Alertmanager. */
  readonly posts: readonly Post[];
  readonly lives: readonly Life[];
  readonly wallClocks: readonly WallClock[];
  readonly silences: readonly AddedSilence[];
  readonly acknowledgements: readonly Acknowledged[];
  /** When each moment was due. */
  readonly dueMs: readonly number[];
  /** The moments in which the store refused something, with the life it happened to. */
  readonly storeFaults: ReadonlyMap<number, number>;
  /** The moments in which the store took something. */
  readonly commits: ReadonlySet<number>;
  /** For how long the process was held up in a moment. */
  readonly stalls: ReadonlyMap<number, number>;
  /** What peers refused, such as a bad signature. */
  readonly refused: readonly string[];
  /** What is left in the store at the end. */
  readonly left: readonly string[];
  /** The polls that were written, in order. */
  readonly keptPolls: readonly KeptPoll[];
  /** The runs that were written, in order. */
  readonly keptRuns: readonly KeptRun[];
  readonly kept: ReadonlyMap<string, KeptHistory>;
  readonly scrapes: readonly Scrape[];
  readonly pings: readonly Ping[];
  readonly endMs: number;
}

/** All that the oracle goes by: with what it made of the answers. */
export interface History extends Recorded {
  readonly sightings: readonly Sighting[];
}
