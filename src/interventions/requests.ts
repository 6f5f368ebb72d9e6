import { z } from "zod";
import { nearestName } from "../config/nearest-name.ts";
import { parseDuration } from "../core/duration.ts";
import { RefusedError } from "../core/refusal.ts";
import { readMatch } from "../core/written-match.ts";
import type { ListPlace } from "../store/silences.ts";
import { allowedWords } from "./allowed-words.ts";

/** What people ask for, as they write it: as JSON, as the query of an address, or on a command line. */

const patternsAllowed = "a name or a list of names, * standing for any characters";
const pattern = z.string(patternsAllowed).min(1, patternsAllowed).max(1_000);
const patterns = z
  .union(
    [pattern, z.array(pattern, patternsAllowed).min(1, patternsAllowed).max(1_000)],
    patternsAllowed,
  )
  .transform((value): readonly string[] => (typeof value === "string" ? [value] : value))
  .exactOptional();

const matchSchema = z
  .strictObject({
    rule: patterns,
    severity: patterns,
    region: patterns,
    key: patterns,
    probe: patterns,
    sandbox_id: patterns,
    server_id: patterns,
    server_name: patterns,
    benchmark: patterns,
    tag: patterns,
  })
  .refine(
    (match) => Object.keys(match).length > 0,
    "at least one field: it would silence everything",
  )
  .transform(readMatch);

export const text = (most: number, allowed: string) =>
  z.string(allowed).trim().min(1, allowed).max(most, `${allowed}, of at most ${most} characters`);

const authorSchema = text(100, "who says so");

/** Without an offset nobody knows which moment is meant. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;
const timeAllowed = "a time such as 2026-11-21T18:00:00Z or 2026-11-21T18:00+01:00";
const time = z
  .string(timeAllowed)
  .transform((value, context) => {
    const atMs = timePattern.test(value) ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(atMs)) return atMs;
    context.addIssue({ code: "custom", message: timeAllowed });
    return z.NEVER;
  })
  .optional();

const durationAllowed = "a duration such as 30m, 2h or 1d12h";
const duration = z
  .string(durationAllowed)
  .transform((value, context) => {
    const ms = parseDuration(value);
    if (ms !== undefined) return ms;
    context.addIssue({ code: "custom", message: durationAllowed });
    return z.NEVER;
  })
  .optional();

export const silenceRequest = z.strictObject({
  match: matchSchema,
  author: authorSchema,
  reason: text(1_000, "why it is to be silent"),
  starts_at: time,
  ends_at: time,
  duration,
});
export type SilenceRequest = z.input<typeof silenceRequest>;
export type CheckedSilenceRequest = z.output<typeof silenceRequest>;

export const acknowledgeRequest = z.strictObject({
  author: authorSchema,
  note: text(1_000, "what there is to say of it").optional(),
});
export type AcknowledgeRequest = z.input<typeof acknowledgeRequest>;

/** One, several separated by commas, or a list. Left out: none. */
export function listOf<Item extends z.ZodType<string>>(item: Item) {
  return z
    .preprocess(
      (value) => (typeof value === "string" ? value.split(",") : (value ?? [])),
      z.array(item).max(100),
    )
    .optional()
    .transform((items) => items ?? []);
}

/** How much of something is asked for. */
export function limitOf(usual: number, most = 1_000) {
  const allowed = `a whole number from 1 to ${most}`;
  return z.coerce.number(allowed).int(allowed).min(1, allowed).max(most, allowed).default(usual);
}

export const limit = limitOf(100);

const placeAllowed = "what the list before gave as next";
export const place = z
  .string(placeAllowed)
  .transform((value, context): ListPlace => {
    const match = /^(\d{1,15})_(.+)$/.exec(value);
    if (match?.[1] && match[2]) return { atMs: Number(match[1]), id: match[2] };
    context.addIssue({ code: "custom", message: placeAllowed });
    return z.NEVER;
  })
  .optional();

/** What `before` of the next request is to be, after a list that went on to here. */
export function placeText({ atMs, id }: ListPlace): string {
  return `${atMs}_${id}`;
}

/** As JSON has it, or an address. */
export const flag = z
  .union([z.boolean(), z.enum(["true", "false"])], "true or false")
  .transform((value) => value === true || value === "true")
  .default(false);

export const silencesQuery = z.strictObject({
  /** Whether those that have ended are listed too. */
  ended: flag,
  limit,
  before: place,
});
export type SilencesQuery = z.input<typeof silencesQuery>;

const notificationStates = ["pending", "delivered", "dead", "discarded"] as const;

export const notificationsQuery = z.strictObject({
  state: listOf(z.enum(notificationStates, notificationStates.join(", "))),
  receiver: z.string().min(1).optional(),
  limit,
  before: z.coerce.number(placeAllowed).int(placeAllowed).min(0, placeAllowed).optional(),
});
export type NotificationsQuery = z.input<typeof notificationsQuery>;

/** As it stands in an address or on a command line. */
const seqAllowed = "a notification's number, as the list has it";
export const notificationSeq = z.coerce.number(seqAllowed).int(seqAllowed).min(0, seqAllowed);

const selectionAllowed = 'either { "seqs": [1, 2] } or { "receiver": "NAME" }';
export const notificationSelection = z.union(
  [
    z.strictObject({ seqs: z.array(z.int().min(0)).min(1).max(10_000) }),
    z.strictObject({ receiver: z.string().min(1) }),
  ],
  selectionAllowed,
);
export type NotificationSelection = z.input<typeof notificationSelection>;

export const serverText = text(1_000, "a server's id, the beginning of one, or a server's name");

export const explainQuery = z.strictObject({ server: serverText });
export type ExplainQuery = z.input<typeof explainQuery>;

/** @throws {RefusedError} with all that is wrong with it */
export function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): z.output<Schema> {
  const read = schema.safeParse(request, { error: allowedWords });
  if (read.success) return read.data;
  const faults = read.error.issues.flatMap((issue) => {
    // Where in a list it stands is left out: in an address and on a command line it is no list.
    const path = issue.path
      .filter((part) => typeof part !== "number")
      .map(String)
      .join(".");
    if (issue.code !== "unrecognized_keys") return [{ path, allowed: issue.message }];
    return issue.keys.map((key) => ({
      path: path === "" ? key : `${path}.${key}`,
      allowed: `nothing: there is no such field${meant(key, fieldsAt(schema, issue.path))}`,
    }));
  });
  const list = new Set(
    faults.map(({ path, allowed }) => (path === "" ? allowed : `${path}: ${allowed}`)),
  );
  throw new RefusedError(
    "invalid",
    `The request cannot be used. Allowed: ${[...list].join("; ")}`,
    faults,
  );
}

function meant(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? "" : `, perhaps ${nearest}`;
}

/** The fields that a request may have at a place within it. */
function fieldsAt(schema: z.core.$ZodType, [field, ...rest]: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodPipe)
    return fieldsAt(schema.in, field === undefined ? [] : [field, ...rest]);
  if (!(schema instanceof z.ZodObject)) return [];
  if (field === undefined) return Object.keys(schema.shape);
  const inner: unknown = schema.shape[String(field)];
  return inner instanceof z.ZodType ? fieldsAt(inner, rest) : [];
}
