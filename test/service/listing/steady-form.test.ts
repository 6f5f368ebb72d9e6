import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createCollectingIntake } from "../support/collecting-intake.ts";
import { chunkSizes } from "../support/json-texts.ts";
import { chunkReading, createMemory, cutBody, wholeReading } from "../support/read-chunks.ts";
import { listing } from "../wire.ts";

/** What is made of each body, known after the ones before it. */
function pollAll(bodies: readonly Buffer[], sizes: readonly number[] = []) {
  const memory = createMemory();
  let known = createCollectingIntake();
  return bodies.map((body) => {
    const intake = createCollectingIntake(known.taken());
    const reading = chunkReading(cutBody(body, sizes), intake, memory);
    if (reading !== "refused") known = intake;
    return { reading, calls: intake.calls };
  });
}

test("a status that comes sooner than in other items is seen, and so is what is none", () => {
  const inStatus = (ofAll: string, ofSooner: string): Buffer => {
    const item = (id: number, gap: number, status: string) => ({
      local_sandbox_id: `s${id}`,
      status: ofAll,
      servers: [{ id: "v".repeat(gap), status, updated_at: "2026-02-16T12:45:25" }],
    });
    const usual = Array.from({ length: 5 }, (_, id) => item(id, 60, ofAll));
    return Buffer.from(
      JSON.stringify(listing([...usual, item(5, 40, ofSooner), item(6, 60, ofAll)])),
    );
  };
  // The last one reads like the number that stands for a status in the form of the text before.
  const bodies = [
    inStatus("idle", "idle"),
    inStatus("error", "occupied"),
    inStatus("idle", "0001"),
  ];
  const polls = pollAll(bodies);
  expect(polls.map(({ reading }) => reading)).toEqual(bodies.map(wholeReading));
  expect(polls[1]?.calls).toMatchObject({ same: 7, listed: 0 });
  expect(polls[2]?.calls).toMatchObject({ same: 6, listed: 1 });
});

/** Both longer and shorter than what is searched for, and than what is looked at at once. */
const gap = fc
  .oneof(
    { weight: 4, arbitrary: fc.integer({ min: 30, max: 34 }) },
    { weight: 1, arbitrary: fc.nat(20) },
  )
  .map((length) => `"gap":"${"-".repeat(length)}"`);

/** What is searched for, and what looks like it; a status goes where # stands, a time where @ does. */
const searched = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('"status":"#"', '"updated_at":"@"') },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      '"status":null',
      '"stat\\u0075s":"#"',
      '"note":"#"',
      '"note":"\\"status\\":\\"#\\""',
      '"metadata":{"status":"#"}',
      '"tags":[{"updated_at":"@"}]',
    ),
  },
);
const fields = fc
  .array(fc.tuple(gap, searched), { minLength: 1, maxLength: 4 })
  .map((each) => each.flat().join(","));
const item = fc.tuple(fields, fc.array(fields, { maxLength: 2 })).map(([own, servers]) => {
  const items = servers.map((each, at) => `{"id":"v${at}",${each}}`);
  return `"local_sandbox_id":"?",${own},"servers":[${items.join(",")}]`;
});
/** Many that are alike, and some that are not. */
const items = fc
  .tuple(item, fc.array(fc.option(item, { freq: 2 }), { maxLength: 8 }))
  .map(([usual, others]) => [usual, usual, ...others.map((other) => other ?? usual), usual]);

const statuses = ["idle", "occupied", "error", "idle", "error", "0000", "0001", "0002", "resting"];
const times = ["2026-02-16T12:45:25", "2026-02-16T12:45:55", "2026", "0000", "", "\\n"];
const values = fc.array(fc.tuple(fc.constantFrom(...statuses), fc.constantFrom(...times)), {
  minLength: 1,
  maxLength: 7,
});

function bodyOf(templates: readonly string[], given: readonly (readonly [string, string])[]) {
  let next = 0;
  const texts = templates.map((template, at) =>
    template.replace("?", `s${at}`).replaceAll(/[#@]/g, (mark) => {
      const [status = "idle", time = ""] = given[next++ % given.length] ?? [];
      return mark === "#" ? status : time;
    }),
  );
  const list = texts.map((text) => `{${text}}`).join(",");
  return Buffer.from(`{"local_sandboxes":[${list}],"total_count":${texts.length}}`);
}

test("whatever stands where names of statuses and times do, a body that was known says what it says as a whole", () => {
  const polled = fc.array(values, { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(items, polled, chunkSizes, (templates, polls, sizes) => {
      const bodies = polls.map((given) => bodyOf(templates, given));
      const readings = pollAll(bodies, sizes).map(({ reading }) => reading);
      expect(readings).toEqual(bodies.map(wholeReading));
    }),
    { numRuns: 150 },
  );
});
