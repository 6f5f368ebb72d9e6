import type { Snapshot } from "../fleet/snapshot.ts";
import type { Deviation } from "../fleet/deviation.ts";
import type { Operation } from "../fleet/model.ts";
import type { Secret } from "../lib/secret.ts";
import { runInSlices } from "../lib/iterables.ts";
import { type BodyBuffer, BodyBuffers } from "./response-body.ts";
import { connectionsLimit } from "../lib/descriptor-limit.ts";
import { type ConnectionOptions, createConnections } from "./connections.ts";
import { acceptedEncodings } from "./response-body.ts";
import { createWalker, Deviations, type Walker } from "./deviations.ts";
import type { Answer } from "./http-get.ts";
import { type CallFailure, failure } from "./failure.ts";
import type { JsonValue } from "./json-value.ts";
import { BodyFault, parseJson } from "./json.ts";
import { createListingReader, type ReadListing } from "./listing-reader.ts";
import { hasShape, type Lookup, lookupPath, promisedOperations } from "./operations.ts";
import { createRefusals, jsonOf } from "./failed-response.ts";
import {
  keptListingSchema,
  universeDataSchema,
  universesSchema,
  userSchema,
  whiteLabelSchema,
} from "./schemas.ts";

export interface ServiceClientOptions extends Omit<
  ConnectionOptions,
  "baseUrl" | "route" | "mostConnections"
> {
  readonly regions: ReadonlyMap<string, Pick<ConnectionOptions, "baseUrl" | "route">>;
  readonly userAgent: string;
  /** Called for every request once it has ended. */
  readonly onRequest?: (request: EndedRequest) => void;
}

export interface EndedRequest {
  readonly region: string;
  readonly operation: Operation;
  /** The HTTP status, or the reason of the failure where no whole answer came. */
  readonly code: string;
  readonly durationMs: number;
}

export interface Call {
  /** A configured region: with any other the call rejects with a RangeError. */
  readonly region: string;
  readonly apiKey: Secret;
  /** Ends the call at once, as a failure for the reason "network" with the detail "stopped". */
  readonly signal?: AbortSignal;
  /** Whether the request may be sent again because its kept connection turned out dead. Default: it may not. */
  readonly mayResend?: () => boolean;
  /** Called whenever the request is sent, once it has a connection. A call can end without it. */
  readonly onSent?: () => void;
  /** The largest answer, where that is less than the client's own limit. */
  readonly maxBodyBytes?: number;
}

export interface ListingCall extends Call {
  /** The previous snapshot; unchanged sandboxes are not parsed. */
  readonly before: Snapshot;
  /** Counts the polls of the target: at each, some texts are parsed though they are known. */
  readonly poll: number;
}

export type TakenListing = Pick<ReadListing, "listing" | "partial" | "unkept">;

export type CallResult<T> =
  | {
      readonly kind: "ok";
      readonly value: T;
      readonly status: number;
      readonly deviations: readonly Deviation[];
    }
  | CallFailure;

const walkers: Readonly<Record<Operation, Walker>> = {
  list_sandboxes: createWalker(keptListingSchema),
  list_universes: createWalker(universesSchema),
  get_user: createWalker(userSchema),
  get_universe_data: createWalker(universeDataSchema),
  get_white_label: createWalker(whiteLabelSchema),
};

export type ServiceClient = ReturnType<typeof createServiceClient>;

/**
 * The service's five operations. Everything that the service does ends in a value. A call rejects with a RangeError for
 * wrong use only: an unknown region, or an id that `canStandInPath` refuses.
 */
export function createServiceClient(options: ServiceClientOptions) {
  const { clock } = options;
  const buffers = new BodyBuffers(options.maxBodyBytes);
  const reading = createListingReader();
  const regions = connectRegions(options);

  const regionOf = ({ region }: Call) => {
    const found = regions.get(region);
    if (!found) throw new RangeError("The region of a call must be a configured one");
    return found;
  };

  const send = async (operation: Operation, call: Call, path: string, buffer?: BodyBuffer) => {
    const { region, apiKey, signal, onSent, maxBodyBytes } = call;
    const { connections } = regionOf(call);
    const key = apiKey.reveal();
    if (/[^\x20-\x7e]/.test(key)) {
      return failure("auth", "the key has characters that are not allowed in a header");
    }
    const startedMs = clock.now().monotonicMs;
    const report = (code: string): void => {
      const durationMs = clock.now().monotonicMs - startedMs;
      options.onRequest?.({ region, operation, code, durationMs });
    };
    const headers = {
      accept: "application/json",
      "accept-encoding": acceptedEncodings,
      authorization: `Bearer ${key}`,
      "user-agent": options.userAgent,
    };
    const mayResend = (): boolean => {
      const again = call.mayResend?.() ?? false;
      if (again) report("network");
      return again;
    };
    const request = { path, headers, signal, maxBodyBytes, onSent, mayResend, buffer };
    const answer = await connections.get(request);
    report(answer.kind === "answered" ? String(answer.status) : answer.reason);
    return answer;
  };

  const refuse = (operation: Operation, call: Call, path: string, answer: Answer): CallFailure => {
    const { baseUrl, refusals } = regionOf(call);
    const nowUtcMs = clock.now().utcMs;
    return refusals.read({ operation, baseUrl, path, ...call, answer, nowUtcMs });
  };

  const perform = async (
    call: Call,
    lookup: Lookup,
    isAnyShape: boolean,
  ): Promise<CallResult<JsonValue>> => {
    const { operation } = lookup;
    const path = lookupPath(lookup);
    const answer = await send(operation, call, path);
    if (answer.kind === "failed") return answer;
    const { status, body } = answer;
    if (status !== 200 || !body) {
      const refused = refuse(operation, call, path, answer);
      const value = isAnyShape && status === 422 ? jsonOf(answer) : undefined;
      if (value === undefined) return refused;
      return { kind: "ok", value, status, deviations: refused.deviations };
    }
    regionOf(call).refusals.answered(operation, path);
    return readValue(operation, body, isAnyShape);
  };

  return {
    async listSandboxes(call: ListingCall): Promise<CallResult<TakenListing>> {
      const { path } = promisedOperations.list_sandboxes;
      const reader = await reading;
      const buffer = buffers.take();
      try {
        const answer = await send("list_sandboxes", call, path, buffer);
        if (answer.kind === "failed") return answer;
        const { status, body } = answer;
        if (status !== 200 || !body) return refuse("list_sandboxes", call, path, answer);
        const read = await runInSlices(reader.read(body, call.before, call.poll));
        const { deviations } = read;
        if (read.kind === "refused")
          return failure(read.reason, read.detail, { status, deviations });
        return { kind: "ok", value: read, status, deviations };
      } finally {
        buffers.giveBack(buffer);
      }
    },
    /** Calls any operation. The value is all that the answer holds, secrets and unknown fields too. */
    look: (call: Call, lookup: Lookup) => perform(call, lookup, false),
    /** The same with an answer of any shape, and with status 422 what it says of the input. */
    examine: (call: Call, lookup: Lookup) => perform(call, lookup, true),
    /** Ends every call in progress as stopped, and closes the connections. */
    async close(): Promise<void> {
      await Promise.all(Array.from(regions.values(), ({ connections }) => connections.close()));
    },
  };
}

function connectRegions(options: ServiceClientOptions) {
  // The other half is for receivers and clients, also where every answer is late.
  const ofRegion = Math.floor(connectionsLimit() / 2 / options.regions.size);
  const mostConnections = Math.min(Math.max(1, ofRegion), Number.MAX_SAFE_INTEGER);
  return new Map(
    Array.from(options.regions, ([region, { baseUrl, route }]) => {
      const connections = createConnections({ ...options, baseUrl, route, mostConnections });
      return [region, { baseUrl, connections, refusals: createRefusals() }];
    }),
  );
}

/** What a response with status 200 says. */
function readValue(
  operation: Lookup["operation"],
  body: Parameters<typeof parseJson>[0],
  isAnyShape: boolean,
): CallResult<JsonValue> {
  const status = 200;
  try {
    const value = parseJson(body);
    const found = new Deviations();
    walkers[operation].compare(value, found);
    const deviations = found.list();
    if (isAnyShape || hasShape(operation, value)) return { kind: "ok", value, status, deviations };
    const detail = "the body does not have the expected shape";
    return failure("invalid_body", detail, { status, deviations });
  } catch (error) {
    if (!(error instanceof BodyFault)) throw error;
    return failure(error.reason, error.message, { status });
  }
}
