import type { Clock } from "./platform/clock.ts";
import type { Store } from "./store/store.ts";

/** So long a stop waits for a disk that does not take what was committed. */
const storeGraceMs = 3_000;

/** Closes what was opened. Rejects when the disk did not take what was committed last. */
export async function stopDaemon(
  opened: AsyncDisposableStack,
  store: Pick<Store, "giveUp">,
  clock: Clock,
): Promise<void> {
  const cancel = clock.setTimer(storeGraceMs, () => store.giveUp());
  await opened.disposeAsync().finally(cancel);
}
