import { z } from "zod";

const maybeText = z.string().optional().catch(undefined);
const maybeTexts = z.array(maybeText).catch([]);
const anything = z.unknown().optional();
const textOrTexts = z.union([z.string(), maybeTexts]);

function lenient<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((value) => (isMapping(value) ? value : {}), z.object(shape));
}

function list<Item extends z.ZodType>(item: Item) {
  return z.preprocess((value) => (Array.isArray(value) ? value : []), z.array(item));
}

function isMapping(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * What settings say of one another, read from a file that may be wrong in any other way: whatever
 * is not as it should be is left out, so that every fault can be told at once.
 */
export const outlineSchema = lenient({
  regions: z.preprocess(
    (value) => new Map(isMapping(value) ? Object.entries(value) : []),
    z.map(z.string(), lenient({ base_url: maybeText, allow_http: anything })),
  ),
  keys: list(lenient({ name: maybeText, api_key: maybeText, regions: maybeTexts })),
  poll: lenient({ schedule: anything, every: anything }),
  probes: list(
    lenient({
      name: maybeText,
      operation: maybeText,
      id: anything,
      regions: maybeTexts,
      keys: maybeTexts,
      schedule: anything,
      every: anything,
      expect: lenient({
        status: anything,
        success: anything,
        at_least: anything,
        fields: anything,
      }),
    }),
  ),
  alerts: lenient({
    rules: list(
      lenient({
        name: maybeText,
        on: maybeText,
        receivers: maybeTexts,
        match: lenient({ region: textOrTexts, key: textOrTexts, probe: textOrTexts }),
      }),
    ),
    receivers: list(
      lenient({
        name: maybeText,
        type: maybeText,
        url: maybeText,
        urls: maybeTexts,
        allow_http: anything,
        group_by: maybeTexts,
      }),
    ),
    maintenance: list(
      lenient({
        name: maybeText,
        match: lenient({
          rule: textOrTexts,
          region: textOrTexts,
          key: textOrTexts,
          probe: textOrTexts,
        }),
      }),
    ),
  }),
});

export type Outline = z.output<typeof outlineSchema>;
