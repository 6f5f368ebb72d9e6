import { z } from "zod";
import { operations } from "../fleet/model.ts";

export const oddKinds = [
  "null_status",
  "unheard_status",
  "missing_id",
  "wrong_types",
  "unknown_field",
  "duplicate_id",
  "special_characters",
  "long_string",
] as const;
export type OddKind = (typeof oddKinds)[number];

const seconds = z.number().min(0);
const share = z.number().gt(0).max(1);
const count = z.int().min(0);

/** Which requests a fault strikes; what is left out restricts nothing. */
const scope = {
  region: z.string().optional(),
  /** A key's name. */
  key: z.string().optional(),
  operation: z.enum(operations).optional(),
  probability: z.number().min(0).max(1).default(1),
  /** Seconds since the simulator was made; `until` is excluded. */
  from: seconds.default(0),
  until: seconds.optional(),
};

/** `before`: not a byte of an answer; `body`: after so many bytes of the body. */
const breaks = {
  when: z.enum(["before", "body"]).default("before"),
  after_bytes: count.default(64),
};

const faultSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("latency"), ms: z.number().min(0), ...scope }),
  z.strictObject({
    kind: z.literal("status"),
    status: z.int().min(200).max(599),
    /** Seconds. */
    retry_after: count.optional(),
    ...scope,
  }),
  z.strictObject({ kind: z.literal("reset"), ...breaks, ...scope }),
  z.strictObject({ kind: z.literal("hang"), ...breaks, ...scope }),
  /** A body that is cut, always before its last byte, in an answer that ends as if it were whole. */
  z.strictObject({ kind: z.literal("truncate"), after_bytes: count.default(64), ...scope }),
  z.strictObject({ kind: z.literal("malformed"), ...scope }),
  z.strictObject({ kind: z.literal("redirect"), location: z.string(), ...scope }),
  /** That share of the sandboxes is not listed, but counted in `total_count`. */
  z.strictObject({ kind: z.literal("partial"), share: share.default(0.5), ...scope }),
  /** That share of the servers is not listed, and nothing tells. */
  z.strictObject({ kind: z.literal("vanish"), share: share.default(0.5), ...scope }),
  /** Odd sandboxes before the true ones, which stay as they are. */
  z.strictObject({
    kind: z.literal("odd"),
    kinds: z
      .array(z.enum(oddKinds))
      .min(1)
      .default([...oddKinds]),
    /** Characters of the `long_string`. */
    length: count.default(200_000),
    ...scope,
  }),
  z.strictObject({ kind: z.literal("huge"), servers: z.int().min(0).max(5_000_000), ...scope }),
  z.strictObject({
    kind: z.literal("nested"),
    depth: z.int().min(1).max(10_000_000).default(100_000),
    ...scope,
  }),
  /** The operation is answered as a path that there is not. */
  z.strictObject({ kind: z.literal("missing"), ...scope }),
  /** Changes the JSON of answers, the validation error's too; without a value the field is left out. */
  z.strictObject({
    kind: z.literal("reshape"),
    /** Such as `universes[].name`; of a list with `[]` at the end, each item. */
    field: z.string().min(1),
    value: z.json().optional(),
    ...scope,
  }),
  z.strictObject({ kind: z.literal("slow"), bytes_per_second: z.int().min(1), ...scope }),
]);

/** The content of a fault file. */
export const faultsSchema = z.array(faultSchema);

/** A fault as people write it: what has a default may be left out. */
export type Fault = z.input<typeof faultSchema>;

/** A fault with its defaults filled in. */
export type FullFault = z.output<typeof faultSchema>;
export type FaultKind = FullFault["kind"];
export type FaultOf<K extends FaultKind> = Extract<FullFault, { kind: K }>;

/** The faults of one kind, in the order given. */
export function faultsOf<K extends FaultKind>(
  faults: readonly FullFault[],
  kind: K,
): readonly FaultOf<K>[] {
  return faults.filter((fault): fault is FaultOf<K> => fault.kind === kind);
}
