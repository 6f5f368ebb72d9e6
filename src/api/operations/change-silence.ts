import { z } from "zod";
import { RefusedError } from "../../lib/refused-error.ts";
import type { SilenceChange, StoredSilence } from "../../store/suppressions.ts";
import type { Needs } from "../context.ts";
import { authorField, durationField, idBeginning } from "../fields.ts";
import { completeId } from "../find-server.ts";
import { defineAction, defineQuery } from "../operation.ts";
import { timeText } from "../view-fields.ts";
import { readPeriod, silenceView, timeField, viewSilence, windowId } from "./silences.ts";

type SilenceContext = Needs<"store" | "suppressions" | "clock">;

export const showSilence = defineQuery({
  name: "showSilence",
  path: "/silences/{id}",
  summary: "A silence",
  request: z.strictObject({ id: idBeginning }),
  response: silenceView,
  refusals: [404, 409],
  async handle(context: SilenceContext, { id }) {
    return viewSilence(await findSilence(context, id), context.clock.now().utcMs);
  },
});

export const changeSilence = defineAction({
  name: "changeSilence",
  path: "/silences/{id}",
  summary: "Shortens or prolongs a silence",
  request: z.strictObject({
    id: idBeginning,
    author: authorField,
    ends_at: timeField,
    duration: durationField.describe("How long it lasts from now, or from its start"),
  }),
  response: silenceView,
  refusals: [404, 409],
  async handle(context: SilenceContext & Needs<"commits">, { id, author, ...period }) {
    const nowMs = context.clock.now().utcMs;
    const silence = await findSilence(context, id);
    const times = { ...period, starts_at: silence.startsAtMs, isNew: false };
    const { endsAtMs } = readPeriod(times, nowMs);
    const change = { endsAtMs, changedBy: author, changedAtMs: nowMs };
    const text = `${author} moved the end of silence ${silence.id} to ${timeText(endsAtMs)}`;
    return applyChange(context, silence, change, { event: "silence.changed" }, text);
  },
});

export const expireSilence = defineAction({
  name: "expireSilence",
  path: "/silences/{id}/expire",
  summary: "Ends a silence now",
  request: z.strictObject({ id: idBeginning, author: authorField.optional() }),
  response: silenceView,
  refusals: [404, 409],
  async handle(context: SilenceContext & Needs<"commits">, { id, author = null }) {
    const nowMs = context.clock.now().utcMs;
    const silence = await findSilence(context, id);
    const change = { endsAtMs: nowMs, changedBy: author, changedAtMs: nowMs };
    const by = author === null ? "" : ` by ${author}`;
    const text = `silence ${silence.id} was ended${by}`;
    return applyChange(context, silence, change, { event: "silence.expired" }, text);
  },
});

async function applyChange(
  { store, suppressions, commits }: SilenceContext & Needs<"commits">,
  silence: StoredSilence,
  change: SilenceChange,
  entry: { readonly event: string },
  msg: string,
) {
  const nowMs = change.changedAtMs;
  const isChanged = await commits.act({
    atMs: nowMs,
    commit: async () =>
      silence.endsAtMs > nowMs && (await store.silences.change(silence.id, change)),
    accept: () => suppressions.reload(),
    lines: (isDone) =>
      isDone ? [{ level: "info", fields: { ...entry, silence_id: silence.id }, msg }] : [],
  });
  if (!isChanged) {
    const endedAt = timeText(silence.endsAtMs);
    const message = `Silence ${silence.id} has ended already, at ${endedAt}.`;
    throw new RefusedError("conflict", message);
  }
  return viewSilence({ ...silence, ...change }, nowMs);
}

/** @param written the id of a silence, or a prefix of that of an open one. @throws {RefusedError} when not exactly one fits */
async function findSilence(
  { store, suppressions, clock }: SilenceContext,
  written: string,
): Promise<StoredSilence> {
  const open = suppressions.openSilences(clock.now().utcMs).map(({ id }) => id);
  const id = completeId(written, open);
  const silence = await store.silences.find(id);
  if (silence) return silence;
  const isWindow = suppressions.windows.some((each) =>
    [each.name, windowId(each)].some((known) => known.toLowerCase() === id),
  );
  const message = isWindow
    ? `${id} is a maintenance window: it can only be changed in the configuration (alerts.maintenance).`
    : `There is no silence ${id}. List silences to see their ids.`;
  throw new RefusedError(isWindow ? "conflict" : "not_found", message);
}
