import type { Dispatcher } from "undici";
import type { ListingIntake } from "../core/listing-intake.ts";
import { wholeAnswer } from "../core/deviation.ts";
import type { Operation } from "../core/model.ts";
import type { Clock } from "../platform/clock.ts";
import type { Secret } from "../platform/secret.ts";
import { SignalCutoffs } from "./cutoff.ts";
import { createDeviations, type Deviation, type Deviations } from "./deviations.ts";
import { acceptedEncodings } from "./decode-body.ts";
import { type CallFailure, failure } from "./failure.ts";
import { type JsonValue, parseJson } from "./json.ts";
import { createListingMemory, type ListingMemory } from "./listing/listing-memory.ts";
import { ListingReader } from "./listing/listing-reader.ts";
import { loadBodyHash } from "./listing/body-hash.ts";
import { listSandboxesPath } from "./operation-path.ts";
import {
  parseUniverses,
  parseUser,
  parseWhiteLabel,
  type Universe,
  type User,
  type WhiteLabel,
} from "./parse-lookups.ts";
import { type Lookup, lookupParser, lookupPath, type Parse } from "./lookup.ts";
import type { BodyReader } from "./pace-reader.ts";
import { parseWholeListing, type WholeListing } from "./parse-whole-listing.ts";
import { createRefusals, type Refusals } from "./refusal.ts";
import { type Answer, createTransport, type Transport } from "./transport.ts";
import type { UnkeptItems } from "./unkept.ts";

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
  /** How much was sent to others until now, which a long body is held back for. Left out: nothing. */
  readonly piecesSent?: (() => number) | undefined;
  /** Told of every request once its answer is here or given up. */
  readonly onRequest?: (request: EndedRequest) => void;
  /** Told of every answer that is not as the interface has it. */
  readonly onDrift?: (drift: Drift) => void;
}

export interface Drift {
  readonly region: string;
  readonly operation: Operation;
  /** At least one. */
  readonly deviations: readonly Deviation[];
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

export interface ListingCall<I extends ListingIntake> extends Call {
  /** Asked for each 200 for what takes its listing. Unless the call is ok, all of it is to be dropped. */
  readonly openIntake: () => I;
}

export interface TakenListing<I extends ListingIntake> {
  /** The one that took all of the listing. */
  readonly intake: I;
  /** False when something may be missing: what such a listing lacks proves nothing. */
  readonly complete: boolean;
  /** Why it is not complete, such as "total_count is null"; null: it is. Nothing in it is secret. */
  readonly partial: string | null;
  /** What it shows and cannot be kept, such as an item with an id that is too long. */
  readonly unkept: UnkeptItems;
}

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
  listSandboxes<I extends ListingIntake>(
    call: ListingCall<I>,
  ): Promise<CallResult<TakenListing<I>>>;
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
  readonly memory: Promise<ListingMemory>;
  readonly refusals: Refusals;
}

interface Taking<T> {
  readonly call: Call;
  readonly path: string;
  readonly answer: Answer;
  readonly parse: Parse<T>;
}

interface OpenedListing<I extends ListingIntake> {
  readonly intake: I;
  readonly reader: ListingReader;
}

export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { clock } = options;
  const regions = new Map<string, Region>();
  const signals = new SignalCutoffs();
  for (const [region, { baseUrl }] of options.regions) {
    const transport = createTransport({ ...options, baseUrl, signals });
    const memory = loadBodyHash().then(createListingMemory);
    regions.set(region, { baseUrl, transport, memory, refusals: createRefusals() });
  }

  const regionOf = ({ region }: Call): Region => {
    const found = regions.get(region);
    if (!found) throw new RangeError("The region of a call must be a configured one");
    return found;
  };

  const send = async (
    operation: Operation,
    call: Call,
    path: string,
    openReader?: () => BodyReader,
  ) => {
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
      openReader,
    });
    tell(answer.kind === "answered" ? String(answer.status) : answer.reason);
    return answer;
  };

  const tellDrift = (
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
    tellDrift(operation, call, deviations);
    return refusal;
  };

  /** What an answer with status 200 holds; of any other, what it means. */
  const take = <T>(
    { operation }: Lookup,
    { call, path, answer, parse }: Taking<T>,
  ): CallResult<T> => {
    if (answer.status !== 200) return refuse(operation, call, path, answer);
    regionOf(call).refusals.answered(operation, path);
    const deviations = createDeviations();
    const result = readBody(answer, parse, deviations);
    tellDrift(operation, call, deviations.list());
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
      const said = readBody(answer, (body) => body, createDeviations());
      return said.kind === "ok" ? said : refused;
    }
    const parseStrictly = lookupParser(lookup);
    const parse: Parse<JsonValue> = (body, deviations) => {
      const isOfShape = parseStrictly(body, deviations) !== undefined;
      if (!isOfShape && deviations.isEmpty) deviations.note(wholeAnswer, "wrong_type", body);
      return body;
    };
    return take(lookup, { call, path, answer, parse });
  };

  const listSandboxes = async <I extends ListingIntake>(
    call: ListingCall<I>,
  ): Promise<CallResult<TakenListing<I>>> => {
    const memory = await regionOf(call).memory;
    let opened: OpenedListing<I> | undefined;
    const openReader = (): BodyReader => {
      const intake = call.openIntake();
      opened = { intake, reader: new ListingReader(intake, memory) };
      return opened.reader;
    };
    const answer = await send("list_sandboxes", call, listSandboxesPath, openReader);
    if (answer.kind === "failed") return answer;
    if (answer.status !== 200) return refuse("list_sandboxes", call, listSandboxesPath, answer);
    tellDrift("list_sandboxes", call, opened?.reader.outcome?.deviations ?? []);
    return listingResult(answer, opened);
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
    look: (call, lookup) => perform(call, lookup, lookupParser(lookup)),
    examine,
    async close() {
      await Promise.all(Array.from(regions.values(), ({ transport }) => transport.close()));
    },
  };
}

function readBody<T>(answer: Answer, parse: Parse<T>, deviations: Deviations): CallResult<T> {
  const { status, body } = answer;
  const invalid = (detail: string): CallFailure => failure("invalid_body", detail, { status });
  const parsed = parseJson(body ?? new Uint8Array());
  if (parsed.kind === "not_json") return invalid(parsed.detail);
  if (parsed.kind === "too_large") return failure("too_large", parsed.detail, { status });
  const value = parse(parsed.value, deviations);
  if (value !== undefined) return { kind: "ok", value, status, deviations: deviations.list() };
  if (deviations.isEmpty) deviations.note(wholeAnswer, "wrong_type", parsed.value);
  return invalid("the body is not of the promised shape");
}

function listingResult<I extends ListingIntake>(
  { status }: Answer,
  opened: OpenedListing<I> | undefined,
): CallResult<TakenListing<I>> {
  if (!opened) throw new TypeError("A listing must have been read");
  const { intake, reader } = opened;
  const { outcome } = reader;
  if (!outcome) throw new TypeError("An answer must be read to its end");
  if (outcome.kind === "refused") return failure(outcome.reason, outcome.detail, { status });
  const { complete, partial, unkept, deviations } = outcome;
  return { kind: "ok", value: { intake, complete, partial, unkept }, status, deviations };
}
