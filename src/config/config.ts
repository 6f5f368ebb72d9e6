import type { MaintenanceWindow } from "../core/maintenance.ts";
import type { Resolution } from "../fleet/buckets.ts";
import type { GroupField } from "../core/notification.ts";
import type { Probe } from "../core/probe.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import type { Rule } from "../core/rule.ts";
import type { Schedule } from "../core/schedule.ts";
import type { OutboundNetworks } from "../platform/networks.ts";
import type { Secret } from "../platform/secret.ts";

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

/** How a receiver wants its messages. */
export interface MessageConfig {
  readonly groupBy: readonly GroupField[];
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly mergeAbove: number;
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
  /** How many incidents one message holds; the rest is counted. */
  readonly maxIncidents: number;
  /** How long a notification is tried. */
  readonly giveUpAfterMs: number;
}

export interface WebhookReceiverConfig extends MessageConfig {
  readonly name: string;
  readonly type: "webhook";
  readonly url: Secret;
  /** `whsec_...` as Standard Webhooks has it; null: messages go unsigned. */
  readonly secret: Secret | null;
  readonly format: "sandwatch" | "alertmanager";
  /** A body of the user's own as JSON, with placeholders in its texts; null: `format` says it. */
  readonly bodyTemplate: Secret | null;
}

export interface SlackReceiverConfig extends MessageConfig {
  readonly name: string;
  readonly type: "slack";
  readonly url: Secret;
}

export interface PagerdutyReceiverConfig extends MessageConfig {
  readonly name: string;
  readonly type: "pagerduty";
  readonly url: Secret;
  readonly routingKey: Secret;
}

export interface AlertmanagerReceiverConfig extends MessageConfig {
  readonly name: string;
  readonly type: "alertmanager";
  /** Base addresses, never empty. */
  readonly urls: readonly Secret[];
  readonly bearerToken: Secret | null;
  readonly generatorUrl: string | null;
}

/** It is told of no incident, so how it wants its messages says nothing. */
export interface HeartbeatReceiverConfig extends MessageConfig {
  readonly name: string;
  readonly type: "heartbeat";
  readonly url: Secret;
  readonly everyMs: number;
  readonly method: "GET" | "POST";
}

export type ReceiverConfig =
  | WebhookReceiverConfig
  | SlackReceiverConfig
  | PagerdutyReceiverConfig
  | AlertmanagerReceiverConfig
  | HeartbeatReceiverConfig;
