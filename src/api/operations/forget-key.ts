import { z } from "zod";
import { counted } from "../../fleet/text.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { ForgetContext } from "../context.ts";
import { defineAction } from "../operation.ts";

/** Afterwards the response says that there is more, long before a client times out. */
const longestMs = 2_000;

export const forgetKey = defineAction({
  name: "forgetKey",
  permission: "delete",
  path: "/history/forget",
  summary:
    "Deletes the history of a key that is not configured; to be repeated until it is complete",
  request: z.strictObject({
    key: z.string().min(1),
    undelivered: z
      .boolean()
      .optional()
      .describe("Whether notifications that were not delivered yet are deleted, too"),
  }),
  response: z.object({
    deleted: z.number().describe("How many rows this request deleted"),
    complete: z.boolean().describe("Whether nothing of the key is left"),
  }),
  refusals: [409],
  async handle({ store, targets, clock, log }: ForgetContext, { key, undelivered = false }) {
    if (targets.some(({ target }) => target.key === key)) {
      throw new RefusedError(
        "conflict",
        `The key ${key} is configured. Remove it from the configuration and reload, so that its incidents end and nothing is stored of it any more. Then delete its history.`,
      );
    }
    const { waiting, shared } = await store.forgetting.undelivered(key);
    if (shared > 0 || (waiting > 0 && !undelivered)) {
      const others = shared > 0 ? ` (of these also about other keys: ${shared})` : "";
      const advice =
        shared > 0 ? "Wait until they are." : "Wait until they are, or add --undelivered.";
      throw new RefusedError(
        "conflict",
        `Notifications about the key ${key} that are not delivered yet: ${waiting}${others}. ${advice}`,
      );
    }
    const endMs = clock.now().monotonicMs + longestMs;
    const { deleted, isComplete } = await store.forgetting.forget(
      key,
      () => clock.now().monotonicMs < endMs,
    );
    if (deleted > 0) {
      log.info(
        { event: "history.forgotten", key, rows: deleted },
        `${counted(deleted, "row")} of the key ${key} were deleted`,
      );
    }
    return { deleted, complete: isComplete };
  },
});
