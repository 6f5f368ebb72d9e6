import type { History } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** By then what waited for receivers has been delivered, so that nothing withholds a ping. */
const recoveryMs = 30 * 60_000;

/** That pings come while all is well, and not while a process has not polled or could not keep it. */
export function checkHeartbeats(scenario: Scenario, history: History): readonly Violation[] {
  const { heartbeat, calmMs, endMs, targets } = scenario;
  if (heartbeat === null) return [];
  const { everyMs } = heartbeat;
  const found: Violation[] = [];
  let lastMs = calmMs + recoveryMs;
  for (const atMs of [...history.pings.map((ping) => ping.atMs), endMs]) {
    if (atMs < lastMs) continue;
    if (atMs - lastMs > 2 * everyMs + 15_000) {
      found.push(violation(`no heartbeat came from ${lastMs} to ${atMs} ms, though all was well`));
      break;
    }
    lastMs = atMs;
  }
  for (const { life, sentMs } of history.pings) {
    const unpolled = targets.find(
      ({ name }) =>
        !history.requests.some(
          ({ exchange, ...request }) =>
            request.life === life &&
            request.target === name &&
            exchange.end !== null &&
            exchange.end.atMs <= sentMs,
        ),
    );
    if (!unpolled) continue;
    found.push(violation(`a heartbeat at ${sentMs} ms, though ${unpolled.name} was not polled`));
    break;
  }
  return found;
}
