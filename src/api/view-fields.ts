/** A name as the API has it: `serverName` is `server_name`, `createdAtMs` is `created_at`, `errorMs` is `error_seconds`. */
type FieldName<Name extends string> = Name extends "atMs"
  ? "at"
  : Name extends `${infer Stem}AtMs`
    ? `${SnakeCase<Stem>}_at`
    : Name extends `${infer Stem}Ms`
      ? `${SnakeCase<Stem>}_seconds`
      : SnakeCase<Name>;

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

type FieldValue<Name extends string, Value> = Name extends "atMs" | `${string}AtMs`
  ? Value extends number
    ? string
    : Value
  : Value;

export type View<Fields> = {
  [Name in keyof Fields & string as FieldName<Name>]: FieldValue<Name, Fields[Name]>;
};

/**
 * Fields with their names in the API, times in ISO 8601 (of UTC milliseconds in `...AtMs`), durations in seconds (of
 * milliseconds in `...Ms`) and shares rounded. It takes all fields, so none may be there that the API does not have.
 */
export function toView<const Fields extends object>(fields: Fields): View<Fields>;
export function toView(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      const field = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (/(^|_)at_ms$/.test(field)) return [field.slice(0, -"_ms".length), toText(value)];
      if (field.endsWith("_share") && typeof value === "number") return [field, toRatio(value)];
      if (!field.endsWith("_ms")) return [field, value];
      const seconds = typeof value === "number" ? toSeconds(value) : value;
      return [field.replace(/ms$/, "seconds"), seconds];
    }),
  );
}

function toText(value: unknown): unknown {
  return typeof value === "number" ? timeText(value) : value;
}

/** ISO 8601 in UTC. */
export function timeText(utcMs: number): string;
export function timeText(utcMs: number | null): string | null;
export function timeText(utcMs: number | null): string | null {
  return utcMs === null ? null : new Date(utcMs).toISOString();
}

/** To the millisecond. */
export function toSeconds(ms: number): number;
export function toSeconds(ms: number | null): number | null;
export function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms) / 1_000;
}

/** What was computed by a division, to six significant digits. */
export function toRatio(ratio: number): number;
export function toRatio(ratio: number | null): number | null;
export function toRatio(ratio: number | null): number | null {
  return ratio === null ? null : Number(ratio.toPrecision(6));
}
