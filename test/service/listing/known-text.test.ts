import { expect, test } from "vitest";
import { type CollectingIntake, createCollectingIntake } from "../support/collecting-intake.ts";
import {
  chunkReading,
  createMemory,
  cutBody,
  readChunks,
  wholeReading,
} from "../support/read-chunks.ts";
import { listing, sandbox, server } from "../wire.ts";
import { ListingReader } from "../../../src/service/listing/listing-reader.ts";

const sandboxes = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ ...sandbox, local_sandbox_id: `s${at}`, ...more }));

function poll(body: unknown, before: CollectingIntake | null, memory = createMemory()) {
  const intake = createCollectingIntake(before?.taken());
  const bytes = Buffer.from(JSON.stringify(body));
  const reading = chunkReading(cutBody(bytes, [1000]), intake, memory);
  expect(reading).toEqual(wholeReading(bytes));
  return intake;
}

test("of a body that has not changed no sandbox is parsed", () => {
  const memory = createMemory();
  const body = listing(sandboxes(100));
  const first = poll(body, null, memory);
  expect(first.calls).toEqual({ same: 0, moved: 0, listed: 100, restart: 0 });
  const second = poll(body, first, memory);
  expect(second.calls).toEqual({ same: 100, moved: 0, listed: 0, restart: 0 });
  expect(second.taken()).toEqual(first.taken());
});

test.for([
  ["as a whole", []],
  ["in a few chunks", [3_000]],
] as const)("of a body that is the known one nothing is read, come it %s", ([, sizes]) => {
  const memory = createMemory();
  const body = Buffer.from(JSON.stringify(listing(sandboxes(40))));
  const first = createCollectingIntake();
  expect(chunkReading(cutBody(body, [500]), first, memory)).toEqual(wholeReading(body));
  const second = createCollectingIntake(first.taken(), first.body());
  expect(chunkReading(cutBody(body, sizes), second, memory)).toEqual(wholeReading(body));
  expect(second.calls).toEqual({ same: 0, moved: 0, listed: 0, restart: 0 });
});

test("a body that may be the known one is held back; one that is longer or in bits is not", () => {
  const memory = createMemory();
  const body = Buffer.from(JSON.stringify(listing(sandboxes(40))));
  const first = createCollectingIntake();
  readChunks([body], first, memory);
  const readOf = (text: Buffer, sizes: readonly number[]) => {
    const intake = createCollectingIntake(first.taken(), first.body());
    const reader = new ListingReader(intake, memory);
    for (const chunk of cutBody(text, sizes)) {
      reader.push(chunk);
      while (reader.advance() === "busy") continue;
    }
    return intake.sandboxCount;
  };
  expect(readOf(body, [3_000])).toBe(0);
  expect(readOf(body, [200])).toBe(40);
  expect(readOf(Buffer.concat([body, Buffer.from(" ")]), [])).toBe(40);
});

test("a body that begins as no known one does is refused before its end", () => {
  const memory = createMemory();
  const body = Buffer.from(JSON.stringify(listing(sandboxes(40))));
  const first = createCollectingIntake();
  readChunks([body], first, memory);
  const reader = new ListingReader(createCollectingIntake(first.taken(), first.body()), memory);
  reader.push(Buffer.from("<html><title>Down for maintenance"));
  expect(reader.advance()).toBe("done");
  expect(reader.outcome).toMatchObject({ kind: "refused", reason: "invalid_body" });
});

test.for([
  ["that is large", listing(sandboxes(1_500))],
  ["with anything to remark", listing(sandboxes(3, { owner: "me" }))],
  ["that lacks something", listing(sandboxes(3, { servers: [{ ...server, id: null }] }))],
] as const)("a body %s is not known as a whole", ([, odd]) => {
  const intake = createCollectingIntake();
  const bytes = Buffer.from(JSON.stringify(odd));
  expect(chunkReading(cutBody(bytes, [60_000]), intake)).toEqual(wholeReading(bytes));
  expect(intake.body()).toBeNull();
});

test("a body that another memory took is read", () => {
  const body = Buffer.from(JSON.stringify(listing(sandboxes(3))));
  const first = createCollectingIntake();
  chunkReading([body], first, createMemory());
  const second = createCollectingIntake(first.taken(), first.body());
  expect(chunkReading([body], second, createMemory())).toEqual(wholeReading(body));
  expect(second.calls).toMatchObject({ listed: 3 });
});

test("only the sandboxes that changed are parsed, wherever the others stand", () => {
  const memory = createMemory();
  const items = sandboxes(100);
  const first = poll(listing(items), null, memory);
  const changed = items.toSpliced(40, 1, { ...sandbox, local_sandbox_id: "s40", servers: [] });
  expect(poll(listing(changed), first, memory).calls).toMatchObject({ same: 99, listed: 1 });
  const inserted = items.toSpliced(40, 0, { ...sandbox, local_sandbox_id: "new" });
  expect(poll(listing(inserted), first, memory).calls).toMatchObject({ same: 100, listed: 1 });
  const removed = items.toSpliced(40, 1);
  expect(poll(listing(removed), first, memory).calls).toMatchObject({ moved: 1, listed: 0 });
  for (const moved of [items.toReversed(), [...items.slice(90), ...items.slice(0, 90)]]) {
    // Nothing tells where the very first one ends but each of its bytes; it is known all the same.
    expect(poll(listing(moved), first, memory).calls).toMatchObject({ listed: 0 });
  }
});

test("of sandboxes that were updated, and differ in nothing that is kept, none is parsed", () => {
  const memory = createMemory();
  const touched = (updated_at: string | null, more: object = {}) =>
    listing(
      sandboxes(20, { servers: [1, 2].map((id) => ({ id: `v${id}`, updated_at, ...more })) }),
    );
  const first = poll(touched("2026-02-16T12:45:25.770231-08:00"), null, memory);
  const second = poll(touched("2026-02-16T12:45:55.123456-08:00"), first, memory);
  expect(second.calls).toMatchObject({ same: 20, moved: 0, listed: 0 });
  // Known by the later text from now on.
  const { local_sandboxes } = touched("2026-02-16T12:45:55.123456-08:00");
  expect(poll(listing(local_sandboxes.toReversed()), second, memory).calls).toMatchObject({
    listed: 0,
  });
  for (const other of ["2026-02-16T12:45:25-08:00", "2026-02-16T12:45:25.7702\\n-08:00", null]) {
    expect(poll(touched(other), second, memory).calls).toMatchObject({ same: 0, listed: 20 });
  }
  const named = touched("2026-02-16T12:46:25.770231-08:00", { server_name: "error" });
  expect(poll(named, second, memory).calls).toMatchObject({ same: 0, listed: 20 });
});

const ownLast = ({ status, ...rest }: { status: unknown }) => ({ ...rest, status });

test.for([
  ["before its servers", (own: object) => own],
  ["after them", ownLast],
] as const)(
  "of sandboxes that differ in statuses alone, their own one %s, none is parsed",
  ([, order]) => {
    const memory = createMemory();
    const inStatuses = (own: unknown, ...ofServers: readonly unknown[]) => {
      const servers = ofServers.map((status, at) => ({ ...server, id: `v${at}`, status }));
      return listing(sandboxes(20, { servers }).map((each) => order({ ...each, status: own })));
    };
    const first = poll(inStatuses("idle", "idle", null, "error"), null, memory);
    const second = poll(inStatuses("error", "occupied", null, "idle"), first, memory);
    expect(second.calls).toMatchObject({ same: 20, listed: 0 });
    const third = poll(inStatuses("error", "error", null, "occupied"), second, memory);
    expect(third.calls).toMatchObject({ same: 20, listed: 0 });
    for (const ofServers of [
      ["error", "idle", "occupied"],
      ["error", null, null],
      ["resting", null, "occupied"],
      ["0001", null, "occupied"],
      ["error", null],
    ]) {
      const { calls } = poll(inStatuses("error", ...ofServers), third, memory);
      expect(calls).toMatchObject({ same: 0, listed: 20 });
    }
  },
);

test.for([
  ["in what is not read", { metadata: { status: "idle" } }],
  ["in a tag", { tags: [{ status: "idle" }] }],
  ["of a server that is there twice", { id: "v1" }],
] as const)(
  "where there is a status %s, sandboxes are parsed when another one changes",
  ([, odd]) => {
    const memory = createMemory();
    const inStatus = (status: string) => {
      const servers = [
        { id: "v1", ...odd, status: "error" },
        { ...server, id: "v1", status },
      ];
      return listing(sandboxes(20, { servers }));
    };
    const first = poll(inStatus("occupied"), null, memory);
    const second = poll(inStatus("idle"), first, memory);
    expect(second.calls).toMatchObject({ same: 0, listed: 20 });
    expect(poll(inStatus("idle"), second, memory).calls).toMatchObject({ same: 20, listed: 0 });
  },
);

test("what a field holds whose name only ends like that of a status is told as it is", () => {
  const body = Buffer.from(JSON.stringify(listing(sandboxes(1, { 'my"status': "occupied" }))));
  const outcome = readChunks([body], createCollectingIntake());
  expect(outcome).toMatchObject({
    deviations: [{ problem: "unknown_field", example: "text of 8 characters" }],
  });
});

test.for(["    ", "   1", "-0.0", " 0e1", "0000", "\\u0030000", "000\\u0030", "\\u00300\\u00300"])(
  "a status that is written as %j is no other one's number",
  (odd) => {
    const text = JSON.stringify(listing([sandbox])).replace('"idle"', `"${odd}"`);
    const body = Buffer.from(text);
    expect(text).toContain(odd);
    expect(chunkReading([body])).toEqual(wholeReading(body));
  },
);

test("a moved sandbox that comes twice, or once more with another text, is parsed and joined", () => {
  const memory = createMemory();
  const items = sandboxes(20, { owner: "me" });
  const first = poll(listing(items), null, memory);
  const known = { ...sandbox, local_sandbox_id: "s19", owner: "me" };
  const other = { ...known, status: "error" };
  for (const twins of [
    [known, known],
    [known, other],
    [other, known],
  ]) {
    const { calls } = poll(listing([...twins, ...items.slice(0, -1)]), first, memory);
    expect(calls).toMatchObject({ listed: twins[0] === known ? 1 : 2 });
    poll(listing(items.toSpliced(7, 0, ...twins)), first, memory);
  }
});

test("what a known text deviates in is counted again, and one that cannot be kept is parsed again", () => {
  const memory = createMemory();
  const odd = { created_at: null, owner: "me", servers: [server] };
  const body = listing(sandboxes(30, odd));
  const first = poll(body, null, memory);
  expect(poll(body, first, memory).calls).toMatchObject({ same: 30 });
  const lacking = listing(sandboxes(30, { servers: [server, { ...server, id: null }] }));
  expect(poll(lacking, poll(lacking, null, memory), memory).calls).toMatchObject({ listed: 30 });
  const fields = Array.from({ length: 30 }, (_, at) => ({ [`f${at}`]: 1, f0: 1 }));
  const various = listing(sandboxes(30).map((each, at) => ({ ...each, ...fields[at] })));
  expect(poll(various, poll(various, null, memory), memory).calls).toMatchObject({ same: 30 });
});

test("of more new words than are told apart those that came first are told", () => {
  const words = Array.from({ length: 20 }, (_, at) => `word ${String.fromCharCode(97 + at)}`);
  const servers = words.map((status) => ({ ...server, id: status, status }));
  const first = { ...sandbox, servers: servers.slice(0, 19) };
  const second = { ...sandbox, local_sandbox_id: "s2", status: "resting", servers };
  const body = Buffer.from(JSON.stringify(listing([first, second])));
  const outcome = readChunks([body], createCollectingIntake());
  const said = { field: "local_sandboxes[].status", problem: "unknown_value", count: 1 };
  expect(outcome.deviations).toContainEqual({ ...said, example: '"resting"' });
});

test("a mark that another memory made is never met", () => {
  const body = listing(sandboxes(20));
  const first = poll(body, null, createMemory());
  expect(poll(body, first, createMemory()).calls).toMatchObject({ same: 0, listed: 20 });
});

test("sandboxes that deviate in more ways than are kept are parsed at each poll", () => {
  const memory = createMemory();
  const body = listing(sandboxes(1010).map((each, at) => ({ ...each, [`f${at}`]: 1 })));
  const first = poll(body, null, memory);
  expect(first.taken().filter(({ mark }) => mark === null)).toHaveLength(10);
  expect(poll(body, first, memory).calls).toMatchObject({ same: 1000, listed: 10 });
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`f${at}`, 1]));
  expect(poll(listing(sandboxes(1, many)), null).taken()[0]?.mark).toBeNull();
});

test("a list of sandboxes that comes twice counts as it came last", () => {
  const [one, two] = [sandboxes(3, { owner: "me" }), sandboxes(5)].map((each) =>
    JSON.stringify(each),
  );
  for (const last of [two, "null", "[]", "{}"]) {
    const body = Buffer.from(
      `{"local_sandboxes":${one},"total_count":5,"local_sandboxes":${last}}`,
    );
    const intake = createCollectingIntake();
    expect(chunkReading(cutBody(body, [50]), intake)).toEqual(wholeReading(body));
  }
});

test("a long sandbox that comes byte by byte takes no longer than its bytes", () => {
  const memory = createMemory();
  const long = { metadata: "m".repeat(200_000), "},{": '},{"local_sandbox_id":' };
  const body = Buffer.from(
    JSON.stringify(listing(sandboxes(3, { servers: [{ id: "v", ...long }] }))),
  );
  const first = createCollectingIntake();
  expect(chunkReading(cutBody(body, [1]), first, memory)).toEqual(wholeReading(body));
  const second = createCollectingIntake(first.taken());
  expect(chunkReading(cutBody(body, [1]), second, memory)).toEqual(wholeReading(body));
  expect(second.calls).toMatchObject({ same: 3 });
});

const layered = (levels: number): string =>
  `{"local_sandboxes":[${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}],"total_count":1}`;

test.for([
  ["one by one", [1]],
  ["as a whole", []],
] as const)(
  "a sandbox nested deeper than 512 levels is refused, come its bytes %s",
  ([, sizes]) => {
    const of = (levels: number) => chunkReading(cutBody(Buffer.from(layered(levels)), sizes));
    expect(of(512)).not.toBe("refused");
    expect(of(513)).toBe("refused");
    const among = (levels: number) => {
      const items = `${'{"a":1},'.repeat(5)}${'{"a":'.repeat(levels)}1${"}".repeat(levels)},{"a":1}`;
      const body = Buffer.from(`{"local_sandboxes":[${items}],"total_count":7}`);
      return chunkReading(cutBody(body, sizes));
    };
    expect(among(512)).not.toBe("refused");
    expect(among(513)).toBe("refused");
  },
);
