import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { delay, type Clock } from "../lib/clock.ts";
import { describeInterface } from "../service/openapi.ts";
import { jsonAnswer, noSuchPath, problem, type Answer } from "./answers.ts";
import { aborted, spoilBody, type Wire } from "./body-faults.ts";
import type { FaultBoard } from "./fault-board.ts";
import { faultsOf, type FullFault } from "./faults.ts";
import type { Gate } from "./gate.ts";
import type { Operations } from "./operations.ts";
import { documentedAt, prefixOf, routeOf } from "./routes.ts";

export interface ExchangeDeps {
  readonly regions: readonly string[];
  readonly clock: Clock;
  readonly gate: Gate;
  readonly faultBoard: FaultBoard;
  readonly operations: Operations;
}

export type Exchange = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Answers one request: path, method, credential, rate limit, faults, then the operation itself. */
export function createExchange(deps: ExchangeDeps): Exchange {
  const { regions, clock, gate, faultBoard, operations } = deps;
  return async (request, response) => {
    const left = new AbortController();
    response.on("close", () => left.abort());
    const wire: Wire = { clock, gone: left.signal, cut: () => void request.socket.destroy() };
    const url = request.url ?? "";
    const route = routeOf(url, regions);
    const documented = route ? null : documentedAt(url, regions);
    if (!route && !documented) return send(response, noSuchPath, [], wire);
    if (request.method !== "GET") {
      return send(response, problem(405, "Method not allowed", { allow: "GET" }), [], wire);
    }
    if (!route) return send(response, documentOf(documented ?? regions), [], wire);
    const admission = gate.admit(route.region, request.headers.authorization);
    if (admission.kind === "refused") return send(response, admission.answer, [], wire);
    const faults = faultBoard.strike({ ...route, key: admission.key });
    for (const { ms } of faultsOf(faults, "latency")) await delay(clock, ms, wire.gone);
    if (breaksBefore(faults, "hang")) await aborted(wire.gone);
    if (wire.gone.aborted) return;
    if (breaksBefore(faults, "reset")) return void request.socket.resetAndDestroy();
    return send(response, operations(route, admission.key, faults), faults, wire);
  };
}

/** For everybody: it takes no key, and no token of its limit. */
function documentOf(regions: readonly string[]): Answer {
  const servers = regions.map((region) => ({ url: prefixOf(region), description: region }));
  return jsonAnswer(200, describeInterface(servers));
}

function breaksBefore(faults: readonly FullFault[], kind: "hang" | "reset"): boolean {
  return faultsOf(faults, kind).some((fault) => fault.when === "before");
}

async function send(
  response: ServerResponse,
  answer: Answer,
  faults: readonly FullFault[],
  wire: Wire,
): Promise<void> {
  response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
  for await (const chunk of spoilBody(encoded(answer.body), faults, wire)) {
    if (wire.gone.aborted) return;
    if (!response.write(chunk)) await drained(response, wire.gone);
    // A reader as fast as the writer would otherwise keep the loop from everything else.
    await nextTurn();
  }
  if (!wire.gone.aborted) response.end();
}

function* encoded(body: Iterable<string>): Generator<Buffer> {
  for (const text of body) yield Buffer.from(text);
}

/** Resolves when more can be written, or when nobody reads any longer: the caller looks which. */
async function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  await once(response, "drain", { signal: gone }).catch(() => {});
}
