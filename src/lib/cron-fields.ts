/**
 * The fields of a cron expression, read and checked before any library sees them: libraries expand
 * a range before they look at its limits, and `0-99999999` takes all memory there is.
 */
export interface CronFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Day of month, month and day of week as croner reads them, with every range written out. */
  readonly days: string;
  /** Whether `days` names every day. */
  readonly everyDay: boolean;
}

/** Either the fields, or which of them is wrong; null: the expression as a whole is. */
export type ReadCronFields =
  | { readonly kind: "ok"; readonly fields: CronFields }
  | { readonly kind: "wrong"; readonly field: string | null };

interface FieldRule {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Full names, of which three letters will do; the first stands for `least`. */
  readonly names?: readonly string[];
  /** What may stand beside numbers and ranges. */
  readonly special?: RegExp;
  /** What may be put behind a value or range. */
  readonly suffix?: RegExp;
}

const second: FieldRule = { name: "second", least: 0, most: 59 };
const minute: FieldRule = { name: "minute", least: 0, most: 59 };
const hour: FieldRule = { name: "hour", least: 0, most: 23 };
const dayOfMonth: FieldRule = {
  name: "day of month",
  least: 1,
  most: 31,
  special: /^(?:L|(?:[1-9]|[12]\d|3[01])W)$/i,
};
const month: FieldRule = {
  name: "month",
  least: 1,
  most: 12,
  names:
    "january february march april may june july august september october november december".split(
      " ",
    ),
};
const dayOfWeek: FieldRule = {
  name: "day of week",
  least: 0,
  most: 7,
  names: ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"],
  suffix: /(?:#[1-5L]|L)$/i,
};

const nicknames: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Every value of every field written out is half as long. */
const longestExpression = 1_000;

/** @param expression five fields, six with seconds first, or a nickname such as `@daily` */
export function readCronFields(expression: string): ReadCronFields {
  if (expression.length > longestExpression) return { kind: "wrong", field: null };
  const written = expression.trim();
  const texts = (nicknames.get(written.toLowerCase()) ?? written).split(/\s+/);
  if (texts.length === 5) texts.unshift("0");
  if (texts.length !== 6) return { kind: "wrong", field: null };
  const [seconds = "", minutes = "", hours = "", days = "", months = "", weekdays = ""] = texts;
  const ofSeconds = readField(seconds, second);
  if (!ofSeconds) return wrong(second);
  const ofMinutes = readField(minutes, minute);
  if (!ofMinutes) return wrong(minute);
  const ofHours = readField(hours, hour);
  if (!ofHours) return wrong(hour);
  const ofDays = readField(days, dayOfMonth);
  if (!ofDays) return wrong(dayOfMonth);
  const ofMonths = readField(months, month);
  if (!ofMonths) return wrong(month);
  // With a plus in front, the day of month and the day of week must both match.
  const plus = weekdays.startsWith("+") ? "+" : "";
  const ofWeekdays = readField(weekdays.slice(plus.length), dayOfWeek);
  if (!ofWeekdays) return wrong(dayOfWeek);
  return {
    kind: "ok",
    fields: {
      seconds: ofSeconds.values,
      minutes: ofMinutes.values,
      hours: ofHours.values,
      days: `${ofDays.text} ${ofMonths.text} ${plus}${ofWeekdays.text}`,
      everyDay: [ofDays, ofMonths, ofWeekdays].every(({ text }) => text === "*"),
    },
  };
}

function wrong({ name }: FieldRule): ReadCronFields {
  return { kind: "wrong", field: name };
}

interface Field {
  readonly values: readonly number[];
  /** As croner reads it. A star stays one: it decides how days of the month and of the week combine. */
  readonly text: string;
}

function readField(written: string, rule: FieldRule): Field | undefined {
  const isStar =
    written === "*" || (written === "?" && (rule === dayOfMonth || rule === dayOfWeek));
  // croner takes the last working day of the month only by itself.
  if (rule === dayOfMonth && /^LW$/i.test(written)) return { values: [], text: "LW" };
  const values = new Set<number>();
  const others = new Set<string>();
  for (const item of (isStar ? "*" : written).split(",")) {
    if (rule.special?.test(item)) {
      others.add(item.toUpperCase());
      continue;
    }
    const suffix = rule.suffix?.exec(item)?.[0] ?? "";
    const range = readRange(item.slice(0, item.length - suffix.length), rule);
    if (!range) return undefined;
    for (const value of range) {
      if (suffix === "") values.add(value);
      else others.add(`${value}${suffix.toUpperCase()}`);
    }
  }
  const sorted = [...values].toSorted((a, b) => a - b);
  return { values: sorted, text: isStar ? "*" : [...sorted, ...others].join() };
}

/** @returns the values of `*`, `5`, `5-9` or `22-2`, and of `*` and ranges with a step */
function readRange(written: string, rule: FieldRule): readonly number[] | undefined {
  const { least, most } = rule;
  // Day 7 of the week is day 0 again.
  const size = rule === dayOfWeek ? 7 : most - least + 1;
  const [, from = "", to, stepText] =
    /^(\*|[a-z]+|\d{1,2})(?:-([a-z]+|\d{1,2}))?(?:\/(\d{1,2}))?$/i.exec(written) ?? [];
  const isStar = from === "*";
  if (isStar ? to !== undefined : to === undefined && stepText !== undefined) return undefined;
  const first = isStar ? least : readValue(from, rule);
  const last = isStar ? least + size - 1 : readValue(to ?? from, rule);
  const step = Number(stepText ?? 1);
  if (first === undefined || last === undefined || step < 1 || step > size) return undefined;
  const span = first <= last ? last - first : last - first + size;
  const values: number[] = [];
  for (let offset = 0; offset <= span; offset += step) {
    values.push(((first - least + offset) % size) + least);
  }
  return values;
}

function readValue(written: string, { least, most, names = [] }: FieldRule): number | undefined {
  const name = written.toLowerCase();
  const index = names.findIndex((each) => each === name || each.slice(0, 3) === name);
  const value = index >= 0 ? least + index : /^\d+$/.test(written) ? Number(written) : NaN;
  return value >= least && value <= most ? value : undefined;
}
