import { callerHeader, callerToHeader, replicaScheme } from "../lib/forwarded-caller.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "../lib/forwarded-caller.ts";
import { BusyError } from "../lib/refused-error.ts";
import type { Secret } from "../lib/secret.ts";
import { ApiUnavailableError, createApiClient, type ApiClientOptions } from "./client.ts";
import type { KeysContext } from "./context.ts";
import { readRequest, type CallApi, type Operation } from "./operation.ts";

export interface ForwardingDeps {
  /** Calls operations in this process. */
  readonly api: CallApi;
  readonly context: KeysContext;
  /** Who uses a key at present: this replica, or another one at its address; null: none does. */
  readonly ownerOf: (key: string) => "self" | { readonly address: string } | null;
  /** Calls operations of another replica for somebody. */
  readonly clientFor: (address: string, caller: Caller, signal: AbortSignal) => CallApi;
  /** Whether the lease of the replica at an address has not ended. */
  readonly isLive: (address: string) => boolean;
  /** How long a replica that does not answer keeps its keys. */
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** Calls an operation for somebody. A request that uses keys is sent to the replicas that own them, so that each key has one rate limit. */
export type CallForSomebody = (
  operation: Operation,
  request: unknown,
  caller: Caller & {
    /** Another replica has forwarded it, which is done once at most. */
    readonly isForwarded: boolean;
  },
) => Promise<object>;

export function createForwarding(deps: ForwardingDeps): CallForSomebody {
  const { api, context, ownerOf, clientFor, isLive, leaseMs, clock } = deps;
  const leaseSeconds = Math.ceil(leaseMs / 1_000);

  const unowned = (key: string): BusyError =>
    new BusyError(
      `The key ${key} moves between replicas at present. Try again in ${leaseSeconds} s.`,
      leaseMs,
      "unavailable",
    );

  /** A replica that is frozen accepts a request and never answers it. */
  const waitWhileLive = async (
    address: string,
    call: (signal: AbortSignal) => Promise<object>,
  ): Promise<object> => {
    const ending = new AbortController();
    const look = (): void => {
      if (isLive(address)) cancelTimer = clock.setTimer(leaseMs / 3, look);
      else ending.abort();
    };
    let cancelTimer = clock.setTimer(leaseMs / 3, look);
    return call(ending.signal).finally(() => cancelTimer());
  };

  const callOther = async (
    address: string,
    operation: Operation,
    request: unknown,
    caller: Caller,
  ): Promise<object> => {
    try {
      return await waitWhileLive(address, (signal) =>
        clientFor(address, caller, signal)(operation, request),
      );
    } catch (error) {
      if (!(error instanceof ApiUnavailableError)) throw error;
      const message = `Only the replica that owns the key can do this. ${error.message} If that replica has failed, another one owns the key in ${leaseSeconds} s.`;
      throw new BusyError(message, leaseMs, "unavailable");
    }
  };

  return async (operation, request, { isForwarded, ...caller }) => {
    const { keys } = operation;
    if (!keys) return api(operation, request);
    const read = readRequest(operation.request, request);
    const byOwner = new Map<string | null, string[]>();
    for (const key of new Set(keys.of(context, read))) {
      const owner = ownerOf(key);
      if (owner === null || (isForwarded && owner !== "self")) throw unowned(key);
      const address = owner === "self" ? null : owner.address;
      byOwner.set(address, [...(byOwner.get(address) ?? []), key]);
    }
    const send = (address: string | null, part: unknown): Promise<object> =>
      address === null ? api(operation, part) : callOther(address, operation, part, caller);
    const [address = null, ...others] = byOwner.keys();
    if (others.length === 0 || !keys.parts) return send(address, request);
    const { parts } = keys;
    const answers = byOwner.entries().map(([owner, own]) => send(owner, parts.only(read, own)));
    return parts.join(context, read, await Promise.all(answers));
  };
}

const connectTimeoutMs = 5_000;

/** @param token by which replicas authenticate to each other */
export function createReplicaClients(
  token: Secret,
  options: Pick<ApiClientOptions, "ca"> & {
    /** Ends the calls in progress. */
    readonly signal: AbortSignal;
    /** Read for each call, as it may be renewed. */
    readonly clientCertificate: () => Secret | undefined;
  },
): ForwardingDeps["clientFor"] {
  return (address, caller, signal) =>
    createApiClient(address, {
      ...options,
      signal: AbortSignal.any([options.signal, signal]),
      clientCertificate: options.clientCertificate(),
      connectTimeoutMs,
      headers: {
        authorization: `${replicaScheme} ${token.reveal()}`,
        [callerHeader]: callerToHeader(caller),
      },
    });
}
