import type { Attempt, History } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { lostMessages } from "./damages.ts";
import { heardFire, isThereAtTheEnd } from "./routes.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";
import { timesOf } from "./wall-clocks.ts";

/** What every daemon tells without being asked to. */
export const receiverRule = "receiver-failing";

/** One that refuses now and then is told of once in so long at most. */
const quietMs = 5 * 60_000;

/** That the others hear of a receiver that makes the daemon give up, and of no other. */
export function checkReceivers(
  scenario: Scenario,
  history: History,
  told: readonly ToldIncident[],
): readonly Violation[] {
  return scenario.receivers.flatMap(({ name, giveUpAfterMs }): readonly Violation[] => {
    const own = told.filter(({ about }) => about === name);
    const attempts = history.attempts.filter(({ receiver }) => receiver === name);
    const isSpoilt = lostMessages(history, name).length > 0;
    const invented = own.filter(
      ({ heardMs }) =>
        !isSpoilt &&
        !attempts.some(
          ({ atMs, answered, refused }) =>
            atMs <= heardMs && (refused !== null || (answered === null && giveUpAfterMs < longMs)),
        ),
    );
    const untold = attempts.filter(
      (attempt) =>
        (history.lives[attempt.life - 1]?.stage.receivers.size ?? 0) > 1 &&
        isSure(history, attempt) &&
        !own.some((incident) => isOf(history, incident, attempt)),
    );
    return [
      ...invented.map(({ id }) => violation(`${id}: ${name} has refused nothing`, id, name)),
      ...untold.map(({ atMs, webhookId }) =>
        violation(`nobody was told that ${name} refused ${webhookId} at ${atMs} ms`, name),
      ),
      ...own.flatMap(({ id, resolved }) =>
        isSpoilt || isOver(scenario, history, name, id, resolved)
          ? []
          : [violation(`${id} went on, though ${name} took what was sent again`, id)],
      ),
    ];
  });
}

/** Patience for less than this can come to its end in an outage. */
const longMs = 12 * 60 * quietMs;

export function isOver(
  scenario: Scenario,
  history: History,
  about: string,
  id: string,
  resolved: ToldIncident["resolved"],
): boolean {
  if (resolved) return true;
  return !scenario.receivers.some(
    ({ name, sendResolved }) =>
      name !== about &&
      sendResolved &&
      isThereAtTheEnd(scenario, name) &&
      heardFire(history, name, id),
  );
}

/** Whether the process has certainly noted that it was refused. */
function isSure({ lives, storeFaults, dueMs }: History, { refused, life }: Attempt): boolean {
  if (!refused) return false;
  const { endMoment, lastPollMs } = lives[life - 1] ?? {};
  return (
    (dueMs[refused.moment] ?? Infinity) < (lastPollMs ?? Infinity) &&
    endMoment !== refused.moment &&
    !Array.from(storeFaults).some(([moment, hit]) => hit === life && moment >= refused.moment)
  );
}

/** Whether an incident speaks of a refusal, or is why nothing does. */
function isOf(
  history: History,
  { startedUtcMs, resolved }: ToldIncident,
  { refused }: Attempt,
): boolean {
  if (!refused) return false;
  if (Math.abs(refused.utcMs - startedUtcMs) < quietMs) return true;
  // In the world's time: where the wall clock was stepped back, an incident can end before it began.
  const atMs = history.dueMs[refused.moment] ?? 0;
  const endsMs = resolved ? timesOf(history, resolved.utcMs) : [Infinity];
  return timesOf(history, startedUtcMs).some((ms) => ms <= atMs) && endsMs.some((ms) => ms >= atMs);
}
