import type { Target } from "../fleet/model.ts";
import type { IncidentMessage } from "./notification.ts";

export const routeFields = ["rule", "severity", "server_name", "benchmark", "tag"] as const;

/** The incidents that a receiver is notified of. */
export interface ReceiverRoute {
  /** The targets that it is about, by `placeKey`; null: all of them. */
  readonly places: ReadonlySet<string> | null;
  /** A field that a subject cannot have excludes nobody: a target has no server name, but many servers that have one. */
  readonly match: { readonly [Field in (typeof routeFields)[number]]?: readonly string[] };
}

/** Identifies a target; of a subject without a key, or without a region, what it may be about. */
export function placeKey(region: string | null, key: string | null): string {
  return `${region ?? ""}/${key ?? ""}`;
}

/** All that subjects can say of where they are, if they are about one of these targets. */
export function placesOf(targets: readonly Target[]): ReadonlySet<string> {
  return new Set(
    targets.flatMap(({ region, key }) => [
      placeKey(region, key),
      placeKey(region, null),
      placeKey(null, key),
      placeKey(null, null),
    ]),
  );
}

/** What decides which messages a configured receiver is sent. */
export interface ConfiguredReceiver {
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
  /** Whether its alert stays open while an incident is silenced, so that it is owed the end. Default: no. */
  readonly keepsAlert?: boolean;
  /** The incidents that it is notified of; null or missing: all. */
  readonly route?: ReceiverRoute | null;
  /** Whether it is notified that something fires at a moment (UTC milliseconds). Null or missing: always. */
  readonly isOpenAt?: ((atMs: number) => boolean) | null;
}

/** The receivers that are configured, by name. */
export type ConfiguredReceivers = ReadonlyMap<string, ConfiguredReceiver>;

/**
 * Whether a receiver is to be notified of this. A receiver that is not configured any more is owed the end of what it
 * was notified of, should it return.
 */
export function wants(
  receivers: ConfiguredReceivers,
  name: string,
  type: IncidentMessage,
): boolean {
  const receiver = receivers.get(name);
  if (type === "incident.resolved") return receiver?.sendResolved ?? true;
  const isAboutPerson = type === "incident.acknowledged" || type === "incident.unacknowledged";
  return receiver !== undefined && (!isAboutPerson || receiver.sendAcknowledged);
}
