import { IdTakenError } from "../alerts/incident.ts";

/**
 * Commits what was judged. If a new incident was given an id that is taken, all is judged once more, from the same state,
 * so that another id is drawn, and that is committed.
 *
 * @returns what was committed
 */
export async function commitJudged<Judged>(
  judged: Judged,
  judgeAgain: () => Judged | Promise<Judged>,
  commit: (judged: Judged) => Promise<void>,
): Promise<Judged> {
  try {
    await commit(judged);
    return judged;
  } catch (error) {
    if (!(error instanceof IdTakenError)) throw error;
  }
  const again = await judgeAgain();
  await commit(again);
  return again;
}
