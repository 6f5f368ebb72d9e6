import type { Operation } from "../fleet/model.ts";
import { type Deviation, wholeAnswer } from "../fleet/deviation.ts";
import { parseRetryAfter } from "../lib/retry-after.ts";
import type { Secret } from "../lib/secret.ts";
import { createDeviations } from "./deviations.ts";
import { type CallFailure, failure, reasonOfStatus } from "./failure.ts";
import { isObject, type JsonValue, parseJson } from "./json.ts";
import { createNotFoundHistory, type NotFoundHistory } from "./not-found.ts";
import { promisedOperations } from "./operations.ts";
import { parseValidation } from "./parse-validation.ts";
import { validationSchema } from "./schemas.ts";
import type { Answer } from "./transport.ts";
import { explainNotFound, explainRedirect, type Unexpected } from "./unexpected-answer.ts";
import { createWalker } from "./walker.ts";

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

/** Says of the answers of one region what those mean that give nothing. */
export interface Refusals {
  /** The operation answered with a 200. */
  answered(operation: Operation, path: string): void;
  read(refused: Refused): {
    readonly failure: CallFailure;
    readonly deviations: readonly Deviation[];
  };
}

const validationWalker = createWalker(validationSchema);
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function createRefusals(): Refusals {
  const histories = new Map<Operation, NotFoundHistory>();
  const historyOf = (operation: Operation): NotFoundHistory => {
    const history = histories.get(operation) ?? createNotFoundHistory();
    histories.set(operation, history);
    return history;
  };

  const unexpected = (
    { operation, baseUrl, path, answer }: Refused,
    body: JsonValue | undefined,
  ): Unexpected | null => {
    const { status, header } = answer;
    if (status === 404) {
      const id = promisedOperations[operation].parameter === null ? null : path;
      // One that did not come, or cannot be decoded, says nothing of who wrote it.
      const said = answer.body === null ? null : body;
      return explainNotFound(historyOf(operation).notFound(id, said));
    }
    return redirects.has(status)
      ? explainRedirect(header("location"), baseUrl.replace(/\/+$/, "") + path)
      : null;
  };

  const answered: Refusals["answered"] = (operation, path) => historyOf(operation).answered(path);

  return {
    answered,
    read(refused) {
      const { operation, path, apiKey, answer, nowUtcMs } = refused;
      const { status, header } = answer;
      const body = status === 422 || status === 404 ? jsonOf(answer) : undefined;
      const deviations = createDeviations();
      if (status === 422 && body !== undefined) {
        answered(operation, path);
        if (isObject(body)) validationWalker.compare(body, deviations);
      }
      const explained = unexpected(refused, body);
      if (explained?.problem) deviations.note(wholeAnswer, explained.problem);
      const reason = reasonOfStatus(status);
      const mayWait = reason === "rate_limited" || reason === "server_error";
      const detail = explained ? `HTTP ${status}: ${explained.detail}` : `HTTP ${status}`;
      return {
        failure: failure(reason, detail, {
          status,
          retryAfterMs: mayWait ? parseRetryAfter(header("retry-after"), nowUtcMs) : null,
          ...(explained?.problem && { problem: explained.problem }),
          validation: status === 422 && body !== undefined ? parseValidation(body, apiKey) : [],
        }),
        deviations: deviations.list(),
      };
    },
  };
}

function jsonOf({ body }: Answer): JsonValue | undefined {
  const parsed = body ? parseJson(body) : null;
  return parsed?.kind === "json" ? parsed.value : undefined;
}
