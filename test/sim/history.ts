import type { z } from "zod";
import type { Bucket, Resolution } from "../../src/core/occupancy/bucket.ts";
import type { StoredChange } from "../../src/store/change-history.ts";
import type { webhookBodySchema } from "../support/webhook-body.ts";
import type { ScenarioRule } from "./scenario.ts";
import type { OfferedPoll } from "./support/poll-ledger.ts";

/** Times are milliseconds since the world began unless they are called UTC. */

/** A listing that came whole to a process that ran. */
export interface Sighting {
  readonly target: string;
  readonly life: number;
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
  /** Whether it said of itself that nothing is missing. */
  readonly complete: boolean;
  /** By sandbox and server id, what it said of each server. */
  readonly shown: ReadonlyMap<string, string>;
  /** Which of the target's requests it answered. */
  readonly request: number;
}

export interface ServiceRequest {
  readonly target: string;
  readonly life: number;
  readonly atMs: number;
  /** Up to when the answer asks to be left alone. */
  readonly patienceUntilMs: number;
  /** Whether the answer refuses the key: then fewer polls than usual send a request. */
  readonly refused: boolean;
}

export type Message = z.infer<typeof webhookBodySchema>;

/** A message that came to a receiver. */
export interface Attempt {
  readonly receiver: string;
  readonly life: number;
  readonly atMs: number;
  readonly webhookId: string;
  readonly body: string;
  readonly message: Message;
  /** Whether the receiver took it. */
  readonly taken: boolean;
  /** When its yes had come to the process whole; null: it never did. */
  answered: { readonly moment: number; readonly atMs: number } | null;
  /** When it had heard that this is not and never will be taken; null: it did not. */
  refused: { readonly moment: number; readonly utcMs: number } | null;
}

/** One process, from its start to its end. */
export interface Life {
  readonly number: number;
  readonly startMs: number;
  readonly startMoment: number;
  /** What it was configured with. */
  readonly rules: readonly ScenarioRule[];
  /** Since when it polls; null: it did not get that far. */
  watchMs: number | null;
  /** When it was told to stop or was killed, whichever came first; null: it still runs. */
  lastPollMs: number | null;
  endMoment: number | null;
  endMs: number | null;
}

/** The wall clock was stepped: from then on it is `offsetMs` ahead of the world's time. */
export interface WallClock {
  readonly fromMs: number;
  readonly offsetMs: number;
}

/** Somebody asked for something, at the desk of a process that may have died of it. */
export interface Asked {
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
  /** Whether the process said yes; if not, it may have been done nevertheless. */
  sure: boolean;
}

/** A silence that somebody asked for; null stands for all of them. */
export interface AddedSilence {
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

/** What the store has of a target at the end. */
export interface KeptHistory {
  readonly buckets: ReadonlyMap<Resolution, readonly Bucket[]>;
  /** With the lapses. */
  readonly changes: readonly StoredChange[];
}

/** All that the oracle goes by. */
export interface History {
  readonly sightings: readonly Sighting[];
  readonly requests: readonly ServiceRequest[];
  readonly attempts: readonly Attempt[];
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
  /** What was offered to the store of each target, and what it has. */
  readonly polls: ReadonlyMap<string, readonly OfferedPoll[]>;
  readonly kept: ReadonlyMap<string, KeptHistory>;
  readonly endMs: number;
}
