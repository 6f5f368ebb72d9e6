import type { MaintenanceWindow } from "../alerts/silence.ts";
import type { Resolution } from "../fleet/buckets.ts";
import type { Probe } from "../alerts/probe.ts";
import type { RateLimit } from "../lib/rate-limit.ts";
import type { Rule } from "../alerts/rule.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { OutboundNetworks } from "../lib/networks.ts";
import type { Secret } from "../lib/secret.ts";
import type { ReceiverConfig } from "./schema-receivers.ts";

/** A configuration that passed every check. Durations are milliseconds, sizes are bytes. */
export interface Config {
  readonly regions: ReadonlyMap<string, RegionConfig>;
  readonly keys: readonly KeyConfig[];
  readonly poll: PollConfig;
  readonly probes: readonly Probe[];
  readonly store: { readonly path: string };
  readonly history: HistoryConfig;
  readonly http: HttpConfig;
  readonly log: LogConfig;
  readonly metrics: { readonly perServer: boolean };
  readonly alerts: {
    readonly rules: readonly Rule[];
    readonly receivers: readonly ReceiverConfig[];
    readonly maintenance: readonly MaintenanceWindow[];
    readonly outbound: OutboundNetworks;
  };
}

/** For how long what is kept. Milliseconds; null: for ever. */
export interface HistoryConfig {
  readonly changes: number | null;
  readonly buckets: Readonly<Record<Resolution, number | null>>;
}

export interface RegionConfig {
  /** Without a trailing slash. */
  readonly baseUrl: string;
}

export interface KeyConfig {
  readonly name: string;
  readonly apiKey: Secret;
  /** Names of configured regions, never empty. */
  readonly regions: readonly string[];
}

export interface PollConfig {
  readonly schedule: Schedule;
  readonly timeoutMs: number;
  readonly rateLimit: RateLimit;
  readonly maxBodyBytes: number;
  readonly staleAfter: number;
  readonly goneAfter: number;
}

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  /** Names, in lower case, by which the API may be called, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
}

export interface LogConfig {
  readonly level: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  readonly format: "json" | "pretty";
}
