import type { Clock } from "../platform/clock.ts";
import type { Log } from "./observer.ts";

/** Logs what a receiver made sandwatch give up: at most a line a minute, though it be very much. */
export interface DeadLog {
  add(fields: Readonly<Record<string, string | number>>, summary: string): void;
  /** Says at once what was counted and not said yet. */
  close(): void;
}

const minuteMs = 60_000;

export function createDeadLog(
  receiver: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): DeadLog {
  /** On the monotonic clock. */
  let quietUntilMs = -Infinity;
  let counted = 0;
  let cancelTimer = (): void => {};

  const sayCount = (): void => {
    cancelTimer();
    if (counted === 0) return;
    log.error(
      { event: "notification.more_dead", receiver, count: counted },
      `${receiver} was not told of ${counted} more`,
    );
    counted = 0;
    quietUntilMs = clock.now().monotonicMs + minuteMs;
  };

  return {
    add(fields, summary) {
      const nowMs = clock.now().monotonicMs;
      if (nowMs < quietUntilMs) {
        counted += 1;
        if (counted === 1) cancelTimer = clock.setTimer(quietUntilMs - nowMs, sayCount);
        return;
      }
      quietUntilMs = nowMs + minuteMs;
      log.error({ event: "notification.dead", ...fields }, `${receiver} was not told: ${summary}`);
    },
    close: sayCount,
  };
}
