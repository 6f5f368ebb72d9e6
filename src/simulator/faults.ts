import { z } from "zod";
import { operations, type Operation } from "../fleet/model.ts";

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
const share = z.number().gt(0).max(1).default(0.5);
const count = z.int().min(0);

/** Which requests a fault concerns: by default all. */
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

function fault<const Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...shape, ...scope });
}

/** `before`: not a byte of an answer; `body`: after N bytes of the body. */
const breaks = {
  when: z.enum(["before", "body"]).default("before"),
  after_bytes: count.default(64),
};

const faultSchema = z.discriminatedUnion("kind", [
  fault("latency", { ms: z.number().min(0) }),
  /** `retry_after` is in seconds. */
  fault("status", { status: z.int().min(200).max(599), retry_after: count.optional() }),
  fault("reset", breaks),
  fault("hang", breaks),
  /** A body that is cut, always before its last byte, in an answer that ends as if it were whole. */
  fault("truncate", { after_bytes: count.default(64) }),
  fault("malformed", {}),
  fault("redirect", { location: z.string() }),
  /** That share of the sandboxes is not listed, but counted in `total_count`. */
  fault("partial", { share }),
  /** That share of the servers is not listed, and nothing says so. */
  fault("vanish", { share }),
  /** Odd sandboxes before the true ones. `length` is of the `long_string`. */
  fault("odd", {
    kinds: z
      .array(z.enum(oddKinds))
      .min(1)
      .default([...oddKinds]),
    length: count.default(200_000),
  }),
  fault("huge", { servers: z.int().min(0).max(5_000_000) }),
  fault("nested", { depth: z.int().min(1).max(10_000_000).default(100_000) }),
  /** The operation is answered as a path that does not exist. */
  fault("missing", {}),
  /**
   * Changes the JSON of answers, the validation error's too: a field such as `universes[].name`; of a
   * list with `[]` at the end, each item. Without a value the field is omitted.
   */
  fault("reshape", { field: z.string().min(1), value: z.json().optional() }),
  fault("slow", { bytes_per_second: z.int().min(1) }),
]);

/** The content of a fault file. */
export const faultsSchema = z.array(faultSchema);

/** A fault as people write it: what has a default may be omitted. */
export type Fault = z.input<typeof faultSchema>;

/** A fault with its defaults filled in. */
export type FullFault = z.output<typeof faultSchema>;
type FaultOf<Kind extends FullFault["kind"]> = Extract<FullFault, { kind: Kind }>;

/** The faults of one kind, in the order given. */
export function faultsOf<Kind extends FullFault["kind"]>(
  faults: readonly FullFault[],
  kind: Kind,
): readonly FaultOf<Kind>[] {
  return faults.filter((each): each is FaultOf<Kind> => each.kind === kind);
}

/** Those that strike a request: drawn for each fault that concerns it, so two calls may differ. */
export function strike(
  faults: readonly FullFault[],
  request: { readonly region: string; readonly key: string; readonly operation: Operation },
  elapsedSeconds: number,
  random: () => number,
): readonly FullFault[] {
  return faults.filter(
    (each) =>
      (each.region ?? request.region) === request.region &&
      (each.key ?? request.key) === request.key &&
      (each.operation ?? request.operation) === request.operation &&
      elapsedSeconds >= each.from &&
      elapsedSeconds < (each.until ?? Infinity) &&
      random() < each.probability,
  );
}
