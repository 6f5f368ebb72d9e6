import type { FailureReason, Operation } from "../fleet/model.ts";
import { wholeAnswer, type OperationProblem } from "../fleet/deviation.ts";
import { parseRetryAfter } from "../lib/retry.ts";
import type { Secret } from "../lib/secret.ts";
import { createWalker, Deviations } from "./deviations.ts";
import type { Answer } from "./http-get.ts";
import { type CallFailure, failure, type ValidationEntry } from "./failure.ts";
import type { JsonObject, JsonValue } from "./json-value.ts";
import { BodyFault, parseJson, isArray, isObject } from "./json.ts";
import { promisedOperations } from "./operations.ts";
import { validationSchema } from "./schemas.ts";

export interface Refused {
  readonly operation: Operation;
  readonly baseUrl: string;
  /** Below the base address. Of an operation that takes an id, there is one path an id. */
  readonly path: string;
  readonly apiKey: Secret;
  /** Any but one with status 200. */
  readonly answer: Answer;
  readonly nowUtcMs: number;
}

/** What an answer means beyond its status. */
interface Explained {
  readonly detail: string;
  /** Null: the interface allows it. */
  readonly problem: OperationProblem | null;
}

const validationWalker = createWalker(validationSchema);
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Explains the answers of one region that are not a success. */
export function createRefusals() {
  const histories = new Map<Operation, NotFoundHistory>();
  const historyOf = (operation: Operation): NotFoundHistory => {
    const history = histories.get(operation) ?? new NotFoundHistory();
    histories.set(operation, history);
    return history;
  };

  const explain = (refused: Refused, body: JsonValue | undefined): Explained | null => {
    const { operation, baseUrl, path, answer } = refused;
    if (answer.status === 404) {
      const isLookup = promisedOperations[operation].parameter !== null;
      // A body that is missing or cannot be decoded does not show who wrote it.
      return historyOf(operation).notFound(isLookup ? path : null, answer.body ? body : null);
    }
    if (answer.status === 400 && baseUrl.startsWith("http:") && isOfTlsPort(answer)) {
      return { detail: "this port speaks TLS", problem: null };
    }
    if (!redirects.has(answer.status)) return null;
    const direction = directionOf(answer.header("location"), baseUrl.replace(/\/+$/, "") + path);
    return { detail: `a redirect ${direction}, which is not followed`, problem: "redirected" };
  };

  return {
    /** The operation answered with a 200. */
    answered: (operation: Operation, path: string): void => historyOf(operation).answered(path),

    read(refused: Refused): CallFailure {
      const { operation, path, apiKey, answer, nowUtcMs } = refused;
      const { status, header } = answer;
      const body = status === 422 || status === 404 ? jsonOf(answer) : undefined;
      const deviations = new Deviations();
      if (status === 422 && body !== undefined) {
        historyOf(operation).answered(path);
        if (isObject(body)) validationWalker.compare(body, deviations);
      }
      const explained = explain(refused, body);
      if (explained?.problem) deviations.note(wholeAnswer, explained.problem);
      const reason = reasonOf(status);
      const mayWait = reason === "rate_limited" || reason === "server_error";
      const detail = explained ? `HTTP ${status}: ${explained.detail}` : `HTTP ${status}`;
      return failure(reason, detail, {
        status,
        retryAfterMs: mayWait ? parseRetryAfter(header("retry-after"), nowUtcMs) : null,
        ...(explained?.problem && { problem: explained.problem }),
        validation: status === 422 && body !== undefined ? readValidation(body, apiKey) : [],
        deviations: deviations.list(),
      });
    },
  };
}

/** Undefined for a body that is no JSON. */
export function jsonOf({ body }: Answer): JsonValue | undefined {
  try {
    return body ? parseJson(body) : undefined;
  } catch (error) {
    if (error instanceof BodyFault) return undefined;
    throw error;
  }
}

/** How nginx, Go and Apache answer a request without TLS at a port with TLS. */
const ofTlsPort = /plain HTTP (?:request was sent )?to|HTTP request to an HTTPS server/;

function isOfTlsPort({ body }: Answer): boolean {
  return body !== null && ofTlsPort.test(body.toString("latin1", 0, 4_096));
}

function reasonOf(status: number): FailureReason {
  if (status === 401 || status === 403) return "auth";
  if (status === 429) return "rate_limited";
  return status >= 500 && status <= 599 ? "server_error" : "http_error";
}

/** The address itself is not shown: its query may be a secret. */
function directionOf(location: string | undefined, from: string): string {
  const to = location === undefined ? null : URL.parse(location, from);
  if (!to) return "without an address";
  const asked = new URL(from);
  if (to.host !== asked.host) return "to another host";
  return to.protocol === "https:" && asked.protocol !== "https:"
    ? "to https on the same host"
    : "to another path on the same host";
}

/** This many unknown ids in a row are more than wrong ids. */
const manyIds = 3;
/** This many ids that were found are remembered, the latest ones. */
const maxKnownIds = 100;

/** Texts of servers and frameworks for a path that does not exist. */
const ofNoPath = /^(?:404[ :-]*)?(?:page |path |route |url |resource )?not[ _]found[.!]?$/i;

/** Whether one operation exists in one region, as far as its responses have shown. */
class NotFoundHistory {
  private readonly known = new Set<string>();
  /** Since the operation answered last. */
  private readonly missed = new Set<string>();
  private lostKnown = false;

  /** Takes an answer that only the operation can give: it found something, or judged the input. */
  answered(id: string): void {
    this.missed.clear();
    this.lostKnown = false;
    this.known.delete(id);
    this.known.add(id);
    const [oldest] = this.known;
    if (this.known.size > maxKnownIds && oldest !== undefined) this.known.delete(oldest);
  }

  /**
   * @param id null for an operation that takes none
   * @param body undefined for one that is no JSON
   */
  notFound(id: string | null, body: JsonValue | undefined): Explained {
    if (id === null) return operationMissing;
    // A more specific text comes from something that knows what was looked for.
    if (isSpecific(body)) return unknownId;
    if (this.missed.size < manyIds) this.missed.add(id);
    this.lostKnown ||= this.known.has(id);
    const isOften = this.missed.size >= manyIds;
    // An operation that was there is missing only when even what it knew is gone.
    if (this.known.size > 0) return isOften && this.lostKnown ? operationMissing : unknownId;
    // The service speaks JSON: anything else comes from a server in front of it, or from another service.
    return isOften || body === undefined ? operationMissing : unclear;
  }
}

const operationMissing: Explained = {
  detail: "there is no such operation at this base address",
  problem: "operation_missing",
};
const unknownId: Explained = { detail: "this id is unknown", problem: null };
const unclear: Explained = {
  detail: "this id is unknown, or there is no such operation",
  problem: null,
};

function isSpecific(body: JsonValue | undefined): boolean {
  if (!isObject(body)) return false;
  const texts = [body["detail"], body["message"], body["error"]].filter(
    (each) => typeof each === "string",
  );
  return texts.length > 0 && !texts.some((text) => ofNoPath.test(text.trim()));
}

/** Takes what it can of the body of a 422, within bounds; a key that the service repeats is masked. */
function readValidation(body: JsonValue, apiKey: Secret): readonly ValidationEntry[] {
  const entries = isObject(body) ? body["detail"] : undefined;
  const key = apiKey.reveal();
  const text = (value: JsonValue | undefined): string => {
    if (typeof value !== "string") return "";
    const masked = key === "" ? value : value.replaceAll(key, apiKey.toString());
    return masked.slice(0, 500).toWellFormed();
  };
  const readEntry = ({ loc, msg, type }: JsonObject): ValidationEntry => ({
    loc: (isArray(loc) ? loc.slice(0, 32) : [])
      .filter((part) => typeof part === "number" || typeof part === "string")
      .map((part) => (typeof part === "number" ? part : text(part))),
    msg: text(msg),
    type: text(type),
  });
  return isArray(entries) ? entries.slice(0, 100).filter(isObject).map(readEntry) : [];
}
