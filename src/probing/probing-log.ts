import { subjectName } from "../core/probe.ts";
import type { Logger } from "../platform/logger.ts";
import { logIncidents } from "../polling/polling-log.ts";
import type { ProbingObserver } from "./probing.ts";

/** One line for each probe that begins to fail or works again, and for each step of an incident. */
export function createProbingLog(log: Logger): ProbingObserver {
  const lostRuns = new Map<string, number>();
  return {
    committed({ subject, operation }, { turn, result, incidents }) {
      const name = subjectName(subject);
      const { probe, region, key } = subject;
      const fields = { probe, region, key, operation };
      const lost = lostRuns.get(name);
      lostRuns.delete(name);
      if (lost !== undefined) {
        log.info(
          { event: "probe.kept", ...fields, lost_runs: lost },
          `runs of probe ${name} are kept again; ${lost} came to nothing`,
        );
      }
      if (turn === "failed" && result) {
        const { reason, detail } = result;
        log.warn(
          { event: "probe.failed", ...fields, reason, detail },
          `probe ${name} fails: ${detail ?? reason}`,
        );
      } else if (turn === "recovered") {
        log.info({ event: "probe.recovered", ...fields }, `probe ${name} works again`);
      }
      logIncidents(log, null, incidents);
    },
    runFailed({ probe, region, key }, error) {
      const name = subjectName({ kind: "probe", probe, region, key });
      const lost = lostRuns.get(name) ?? 0;
      lostRuns.set(name, lost + 1);
      if (lost > 0) return;
      log.error(
        { event: "probe.lost", probe, region, key, err: error },
        `a run of probe ${name} came to nothing, and this is not said again until one is kept`,
      );
    },
  };
}
