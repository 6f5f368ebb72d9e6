import * as fc from "fast-check";
import { sandbox, server } from "../wire.ts";

/**
 * Texts of JSON as some service might write it: with or without spaces, with characters as they are or
 * escaped, names given twice, and inside strings what looks like the text around them.
 */

const oddTexts = [
  "",
  '"',
  "\\",
  "}",
  "]}",
  '},{"local_sandbox_id":',
  '"},{"id":"',
  "é",
  "\u{1f600}",
  "\ufeff",
  "a\u0000b",
  "x".repeat(300),
];
const text = fc.oneof(fc.constantFrom(...oddTexts), fc.string({ unit: "binary", maxLength: 6 }));

/**
 * Of fields. None begins with a backslash: once V8 has parsed such a name, it takes escaped ones that stand
 * in the same place for it.
 *
 * @see https://github.com/nodejs/node/issues/63785
 */
const oddName = text.filter((each) => !each.startsWith("\\"));

const escapeAll = (each: string): string =>
  Array.from({ length: each.length }, (_, at) => each.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");
const stringText = (of: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(of, fc.constantFrom("plain", "plain", "escaped", "slash")).map(([each, way]) => {
    if (way === "escaped") return `"${escapeAll(each)}"`;
    const plain = JSON.stringify(each);
    return way === "slash" ? plain.replaceAll("/", "\\/") : plain;
  });

const space = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.constantFrom(" ", "\n  ", "\t", "\r\n") },
);

export interface Layout {
  /** Around each part. */
  readonly space: fc.Arbitrary<string>;
}
export const loose: Layout = { space };
export const compact: Layout = { space: fc.constant("") };

const joined = (
  parts: fc.Arbitrary<readonly string[]>,
  [open, close]: readonly [string, string],
  layout: Layout,
): fc.Arbitrary<string> =>
  fc
    .tuple(parts, layout.space, layout.space)
    .map(([each, a, b]) => `${open}${a}${each.join(`${b},${a}`)}${b}${close}`);

export const arrayText = (
  items: fc.Arbitrary<readonly string[]>,
  layout: Layout,
): fc.Arbitrary<string> => joined(items, ["[", "]"], layout);

export type Members = fc.Arbitrary<readonly (readonly [string, string])[]>;

export const objectText = (members: Members, layout: Layout): fc.Arbitrary<string> => {
  const parts = fc
    .tuple(members, layout.space)
    .map(([each, gap]) => each.map(([name, value]) => `${name}${gap}:${gap}${value}`));
  return joined(parts, ["{", "}"], layout);
};

const scalarText = fc.oneof(
  stringText(text),
  fc.constantFrom("null", "true", "false", "0", "-0", "1.5e3", "-12E-2", "12345678901234567890"),
);
const anyText = (layout: Layout): fc.Arbitrary<string> =>
  fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      scalarText,
      arrayText(fc.array(tie("value"), { maxLength: 3 }), layout),
      objectText(fc.array(fc.tuple(stringText(oddName), tie("value")), { maxLength: 3 }), layout),
    ),
  })).value;

const nameText = (names: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: stringText(fc.constantFrom(...names)) },
    { weight: 1, arbitrary: fc.nat(30).map((at) => `"odd${at}"`) },
    { weight: 1, arbitrary: stringText(oddName) },
  );

const status = fc.constantFrom('"idle"', '"occupied"', '"error"', "null", '"resting"');
/** Where nobody looks for one. */
const withStatus = (layout: Layout): fc.Arbitrary<string> =>
  objectText(fc.tuple(fc.tuple(fc.constant('"status"'), status)), layout);

/** Mostly as promised, in any order; now and then with a field that is odd, or there twice. */
const membersOf = (
  promised: Readonly<Record<string, fc.Arbitrary<string>>>,
  layout: Layout,
): Members => {
  const names = Object.keys(promised);
  const usual = fc.tuple(
    ...Object.entries(promised).map(([name, value]) =>
      fc.tuple(fc.constant(JSON.stringify(name)), value),
    ),
  );
  const value = fc.oneof({ weight: 3, arbitrary: anyText(layout) }, status);
  const odd = fc.array(fc.tuple(nameText(names), value), { maxLength: 3 });
  return fc.oneof(
    { weight: 5, arbitrary: usual },
    { weight: 1, arbitrary: usual.chain((each) => fc.shuffledSubarray([...each])) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(usual, odd)
        .chain(([each, more]) => fc.shuffledSubarray([...each, ...more], { minLength: 4 })),
    },
  );
};

const idText = (prefix: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.nat(40).map((at) => `"${prefix}${at}"`) },
    { weight: 1, arbitrary: fc.constantFrom("null", '""', `"${"i".repeat(513)}"`, "7") },
    { weight: 1, arbitrary: stringText(text) },
  );
const shortText = (value: unknown) => fc.oneof(fc.constant(JSON.stringify(value)), scalarText);

const serverText = (layout: Layout): fc.Arbitrary<string> =>
  objectText(
    membersOf(
      {
        id: idText("v"),
        server_name: shortText(server.server_name),
        mcp_server_url: shortText(server.mcp_server_url),
        status,
        benchmark: shortText(server.benchmark),
        updated_at: fc.constant(JSON.stringify(server.updated_at)),
        metadata: fc.oneof({ weight: 6, arbitrary: anyText(layout) }, withStatus(layout)),
        tags: arrayText(
          fc.array(fc.oneof({ weight: 8, arbitrary: scalarText }, withStatus(layout)), {
            maxLength: 3,
          }),
          layout,
        ),
      },
      layout,
    ),
    layout,
  );

export const sandboxText = (layout: Layout): fc.Arbitrary<string> => {
  const servers = arrayText(
    fc.array(fc.oneof({ weight: 8, arbitrary: serverText(layout) }, scalarText), { maxLength: 3 }),
    layout,
  );
  const fields = {
    local_sandbox_id: idText("s"),
    created_at: fc.constant(JSON.stringify(sandbox.created_at)),
    status,
    benchmark: shortText(null),
    servers: fc.oneof({ weight: 12, arbitrary: servers }, anyText(layout)),
  };
  return objectText(membersOf(fields, layout), layout);
};

export const itemsText = (layout: Layout): fc.Arbitrary<readonly string[]> =>
  fc.array(fc.oneof({ weight: 15, arbitrary: sandboxText(layout) }, anyText(layout)), {
    maxLength: 8,
  });

/** A whole body around lists of sandboxes: mostly one, with a count that is mostly right. */
export const bodyText = (
  items: fc.Arbitrary<readonly string[]>,
  layout: Layout,
): fc.Arbitrary<string> => {
  const members = items.chain((each) => {
    const list = fc.tuple(fc.constant('"local_sandboxes"'), arrayText(fc.constant(each), layout));
    const count = fc.tuple(fc.constant('"total_count"'), fc.constant(String(each.length)));
    const odd = fc.tuple(nameText(["local_sandboxes", "total_count"]), anyText(layout));
    return fc.oneof(
      { weight: 4, arbitrary: fc.tuple(list, count) },
      { weight: 1, arbitrary: fc.tuple(count, list) },
      { weight: 2, arbitrary: fc.tuple(odd, list, odd, count) },
      { weight: 1, arbitrary: fc.tuple(count, list, odd, list, count) },
      { weight: 1, arbitrary: fc.tuple(list, count, odd, odd) },
    );
  });
  return fc
    .tuple(layout.space, objectText(members, layout), layout.space)
    .map((parts) => parts.join(""));
};

export const layouts: readonly Layout[] = [loose, compact];

export const anyBody = fc.oneof(...layouts.map((each) => bodyText(itemsText(each), each)));

/** In bytes, again and again. */
export const chunkSizes = fc.oneof(
  fc.constant([1]),
  fc.constant([]),
  fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 4 }),
);
