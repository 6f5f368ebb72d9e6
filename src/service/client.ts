import type { Dispatcher } from "undici";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { Drift } from "../fleet/drift.ts";
import type { Operation } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import type { Secret } from "../lib/secret.ts";
import { runInSlices } from "../lib/run-in-slices.ts";
import { type BodyBuffer, BodyBuffers } from "./body-buffer.ts";
import { SignalCutoffs } from "./cutoff.ts";
import { createDeviations, type Deviation } from "./deviations.ts";
import { acceptedEncodings } from "./decode-body.ts";
import { type CallFailure, failure } from "./failure.ts";
import { type JsonValue, parseJson } from "./json.ts";
import { createListingReader, type ListingReader, type ReadListing } from "./listing-reader.ts";
import { type Lookup, lookupPath, promisedOperations } from "./operations.ts";
import {
  type Parse,
  parseAsIs,
  parseUniverses,
  parseUser,
  parseWhiteLabel,
  parseWholeListing,
  type Universe,
  type User,
  type WhiteLabel,
  type WholeListing,
} from "./responses.ts";
import { createRefusals, type Refusals } from "./refusal.ts";
import {
  keptListingSchema,
  universeDataSchema,
  universesSchema,
  userSchema,
  whiteLabelSchema,
} from "./schemas.ts";
import { type Answer, createTransport, type Transport } from "./transport.ts";
import { createWalker, type Walker } from "./walker.ts";

export interface ServiceClientOptions {
  /** A base address may hold a path, such as `https://host/us`. */
  readonly regions: ReadonlyMap<string, { readonly baseUrl: string }>;
  /** For a whole call, to the last byte. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly userAgent: string;
  readonly clock: Clock;
  /** Stands in for the network; left out: connections are made. What it gives is destroyed here. */
  readonly createDispatcher?: (() => Dispatcher) | undefined;
  /** Told of every request once its answer is here or given up. */
  readonly onRequest?: (request: EndedRequest) => void;
  /** Called for every response that deviates from the interface. */
  readonly onDrift?: (drift: Drift) => void;
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
  /**
   * Asked before the request is sent once more because a kept connection turned out dead: it is one
   * more request within the key's limit. Left out: it is not, and the call fails.
   */
  readonly mayResend?: () => boolean;
  /**
   * Told as the request goes out, which is once it has a connection, and again if it is sent once
   * more. A call can end without it.
   */
  readonly onSent?: () => void;
  /** Less than the client's own: what one answer may hold. */
  readonly maxBodyBytes?: number;
}

export interface ListingCall extends Call {
  /** What the listing is compared with: what it holds of it need not be parsed. */
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

/**
 * The watched service's five operations, as its interface document has them. Whatever the service
 * does ends in a value. What a call rejects with is a RangeError for wrong use: an unknown region,
 * or an id that `canStandInPath` refuses.
 */
export interface ServiceClient {
  listSandboxes(call: ListingCall): Promise<CallResult<TakenListing>>;
  getUser(call: Call, userId: string): Promise<CallResult<User>>;
  listUniverses(call: Call): Promise<CallResult<readonly Universe[]>>;
  getUniverseData(call: Call, universeId: string): Promise<CallResult<JsonValue>>;
  getWhiteLabel(call: Call, clientId: string): Promise<CallResult<WhiteLabel>>;
  /** A listing with every field of it, held as a whole: for looking at one, not for polling. */
  readListing(call: Call): Promise<CallResult<WholeListing>>;
  /** Any operation, and all that its answer holds, secrets and what nobody promised included. */
  look(call: Call, lookup: Lookup): Promise<CallResult<JsonValue>>;
  /** The same with an answer of whatever shape, and with status 422 what it says of the input. */
  examine(call: Call, lookup: Lookup): Promise<CallResult<JsonValue>>;
  /** Ends every call in flight as stopped, and closes the connections. */
  close(): Promise<void>;
}

interface Region {
  readonly baseUrl: string;
  readonly transport: Transport;
  readonly reader: Promise<ListingReader>;
  readonly refusals: Refusals;
}

interface Taking<T> {
  readonly call: Call;
  readonly path: string;
  readonly answer: Answer;
  readonly parse: Parse<T>;
}

export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { clock } = options;
  const regions = new Map<string, Region>();
  const signals = new SignalCutoffs();
  const buffers = new BodyBuffers(options.maxBodyBytes);
  for (const [region, { baseUrl }] of options.regions) {
    const transport = createTransport({ ...options, baseUrl, signals });
    regions.set(region, {
      baseUrl,
      transport,
      reader: createListingReader(),
      refusals: createRefusals(),
    });
  }

  const regionOf = ({ region }: Call): Region => {
    const found = regions.get(region);
    if (!found) throw new RangeError("The region of a call must be a configured one");
    return found;
  };

  const send = async (operation: Operation, call: Call, path: string, buffer?: BodyBuffer) => {
    const { region, apiKey, signal, mayResend, onSent, maxBodyBytes } = call;
    const { transport } = regionOf(call);
    const key = apiKey.reveal();
    if (/[^\x20-\x7e]/.test(key)) return failure("auth", "the key holds what no header can carry");
    const startedMs = clock.now().monotonicMs;
    const tell = (code: string): void =>
      options.onRequest?.({
        region,
        operation,
        code,
        durationMs: clock.now().monotonicMs - startedMs,
      });
    const headers = {
      accept: "application/json",
      "accept-encoding": acceptedEncodings,
      authorization: `Bearer ${key}`,
      "user-agent": options.userAgent,
    };
    const answer = await transport.get({
      path,
      headers,
      signal,
      maxBodyBytes,
      onSent,
      mayResend() {
        const again = mayResend?.() ?? false;
        if (again) tell("network");
        return again;
      },
      buffer,
    });
    tell(answer.kind === "answered" ? String(answer.status) : answer.reason);
    return answer;
  };

  const reportDrift = (
    operation: Operation,
    { region }: Call,
    deviations: readonly Deviation[],
  ): void => {
    if (deviations.length > 0) options.onDrift?.({ region, operation, deviations });
  };

  const refuse = (operation: Operation, call: Call, path: string, answer: Answer): CallFailure => {
    const { baseUrl, refusals } = regionOf(call);
    const nowUtcMs = clock.now().utcMs;
    const refused = { operation, baseUrl, path, apiKey: call.apiKey, answer, nowUtcMs };
    const { failure: refusal, deviations } = refusals.read(refused);
    reportDrift(operation, call, deviations);
    return refusal;
  };

  /** What an answer with status 200 holds; of any other, what it means. */
  const take = <T>(
    { operation }: Lookup,
    { call, path, answer, parse }: Taking<T>,
  ): CallResult<T> => {
    if (answer.status !== 200) return refuse(operation, call, path, answer);
    regionOf(call).refusals.answered(operation, path);
    const { result, deviations } = readBody(answer, parse, walkers[operation]);
    reportDrift(operation, call, deviations);
    return result;
  };

  const perform = async <T>(
    call: Call,
    lookup: Lookup,
    parse: Parse<T>,
  ): Promise<CallResult<T>> => {
    const path = lookupPath(lookup);
    const answer = await send(lookup.operation, call, path);
    return answer.kind === "failed" ? answer : take(lookup, { call, path, answer, parse });
  };

  const examine: ServiceClient["examine"] = async (call, lookup) => {
    const path = lookupPath(lookup);
    const answer = await send(lookup.operation, call, path);
    if (answer.kind === "failed") return answer;
    if (answer.status === 422) {
      const refused = refuse(lookup.operation, call, path, answer);
      const { result } = readBody(answer, (body) => body, null);
      return result.kind === "ok" ? result : refused;
    }
    return take(lookup, { call, path, answer, parse: (body) => body });
  };

  const listSandboxes = async (call: ListingCall): Promise<CallResult<TakenListing>> => {
    const reader = await regionOf(call).reader;
    const buffer = buffers.take();
    try {
      const answer = await send(
        "list_sandboxes",
        call,
        promisedOperations.list_sandboxes.path,
        buffer,
      );
      if (answer.kind === "failed") return answer;
      const { status, body } = answer;
      if (status !== 200 || !body) {
        return refuse("list_sandboxes", call, promisedOperations.list_sandboxes.path, answer);
      }
      const {
        kind: _,
        deviations,
        ...outcome
      } = await runInSlices(reader.read(body, call.before, call.poll));
      reportDrift("list_sandboxes", call, deviations);
      if ("reason" in outcome) return failure(outcome.reason, outcome.detail, { status });
      return { kind: "ok", value: outcome, status, deviations };
    } finally {
      buffers.giveBack(buffer);
    }
  };

  return {
    listSandboxes,
    getUser: (call, id) => perform(call, { operation: "get_user", id }, parseUser),
    listUniverses: (call) => perform(call, { operation: "list_universes" }, parseUniverses),
    getUniverseData: (call, id) =>
      perform(call, { operation: "get_universe_data", id }, (body) => body),
    getWhiteLabel: (call, id) =>
      perform(call, { operation: "get_white_label", id }, parseWhiteLabel),
    readListing: (call) => perform(call, { operation: "list_sandboxes" }, parseWholeListing),
    look: (call, lookup) => perform(call, lookup, parseAsIs(lookup.operation)),
    examine,
    async close() {
      await Promise.all(Array.from(regions.values(), ({ transport }) => transport.close()));
    },
  };
}

const walkers: Readonly<Record<Operation, Walker>> = {
  list_sandboxes: createWalker(keptListingSchema),
  list_universes: createWalker(universesSchema),
  get_user: createWalker(userSchema),
  get_universe_data: createWalker(universeDataSchema),
  get_white_label: createWalker(whiteLabelSchema),
};

interface ReadBody<T> {
  readonly result: CallResult<T>;
  readonly deviations: readonly Deviation[];
}

/** @param walker null: the body is not compared with the interface */
function readBody<T>(answer: Answer, parse: Parse<T>, walker: Walker | null): ReadBody<T> {
  const { status, body } = answer;
  const invalid = (detail: string): CallFailure => failure("invalid_body", detail, { status });
  const parsed = parseJson(body ?? new Uint8Array());
  if (parsed.kind === "not_json") return { result: invalid(parsed.detail), deviations: [] };
  if (parsed.kind === "too_large") {
    return { result: failure("too_large", parsed.detail, { status }), deviations: [] };
  }
  const found = createDeviations();
  walker?.compare(parsed.value, found);
  const deviations = found.list();
  const value = parse(parsed.value);
  const result: CallResult<T> =
    value === undefined
      ? invalid("the body is not of the promised shape")
      : { kind: "ok", value, status, deviations };
  return { result, deviations };
}
