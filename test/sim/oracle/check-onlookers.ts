import { statuses } from "../history.ts";
import type { History, Onlook } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { countServers } from "./check-scrapes.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

const refusal =
  /^The store \S+ is in use by another sandwatch process\. Stop that process, or set another store\.path\.$/;

/**
 * That queries are answered from what is stored and change nothing, and that another process is refused while one runs:
 * that the one that runs is not disturbed, all other checks say.
 */
export function checkOnlookers(scenario: Scenario, history: History): readonly Violation[] {
  return history.onlooks.flatMap((onlook) => {
    const { what, atMs, isChanged } = onlook;
    const faults =
      what === "queries" ? checkQueries(scenario, history, onlook) : checkOther(onlook);
    return [...(isChanged ? ["changed the store"] : []), ...faults].map((fault) =>
      violation(`${what} at ${atMs} ms: ${fault}`),
    );
  });
}

function checkOther({ error }: Onlook): readonly string[] {
  if (error === null) return ["let in, though a process ran"];
  return refusal.test(error) ? [] : [`refused with other words: ${error}`];
}

function checkQueries(
  { targets, goneAfter }: Scenario,
  history: History,
  { moment, life, error, servers }: Onlook,
): readonly string[] {
  const before = history.keptPolls.filter((poll) => poll.moment <= moment);
  // The first process may have been killed before it had made its store.
  if (error !== null) return before.length === 0 ? [] : [`not answered: ${error}`];
  return targets.flatMap(({ name }) => {
    const last = before.findLast((poll) => poll.target === name);
    const expected = last ? countServers(history, name, last, goneAfter, life) : new Map();
    return statuses.flatMap((status) => {
      const [shown, count] = [servers?.get(name)?.get(status) ?? 0, expected.get(status) ?? 0];
      return shown === count ? [] : [`${name} has ${count} servers ${status}, ${shown} are shown`];
    });
  });
}
