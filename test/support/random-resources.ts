import * as fc from "fast-check";

/** Resources as the interface document has them, whatever their texts say. */

const text = fc.string({ unit: "binary", maxLength: 12 }).map((each) => each.toWellFormed());
/** One that can be kept: no database keeps a NUL character. */
const keptText = text.map((each) => each.replaceAll("\0", "-"));
/** Such as the simulated service takes in a path. */
const id = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .map((each) => each.toWellFormed())
  .filter((each) => !/^\.{1,2}$|\p{Cc}/u.test(each));
const time = fc
  .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
  .map((each) => each.toISOString().replace("Z", "123-08:00"));
/** In it -0 would come back as 0. */
const json = fc.jsonValue({ maxDepth: 2 }).map((each) => JSON.parse(JSON.stringify(each)));
const freeForm = fc.dictionary(
  text.filter((each) => each !== "__proto__"),
  json,
  { maxKeys: 3, noNullPrototype: true },
);
const status = fc.constantFrom("idle" as const, "occupied" as const, "error" as const);

const server = fc.record(
  {
    id,
    server_name: fc.option(keptText),
    mcp_server_url: fc.option(text),
    status: fc.option(status),
    benchmark: fc.option(keptText),
    updated_at: fc.option(time),
    metadata: fc.option(freeForm),
    auth_data: fc.option(freeForm),
    tags: fc.option(fc.array(keptText, { maxLength: 3 })),
  },
  { requiredKeys: ["id"] },
);

const sandbox = fc.record(
  {
    local_sandbox_id: id,
    created_at: time,
    status: fc.option(status),
    benchmark: fc.option(keptText),
    servers: fc.uniqueArray(server, { selector: (each) => each.id, maxLength: 3 }),
  },
  { requiredKeys: ["local_sandbox_id", "created_at", "servers"] },
);

const user = fc.record(
  { userId: id, createdAt: text, lastUsedAt: fc.option(text) },
  { requiredKeys: ["userId", "createdAt"] },
);

const universe = fc.record({
  universe_id: id,
  name: text,
  description: text,
  domain: text,
  personas: fc.array(freeForm, { maxLength: 2 }),
  task_nums: fc.array(text, { maxLength: 3 }),
  created_at: time,
});

const whiteLabel = fc.record(
  { success: fc.boolean(), data: fc.option(freeForm), message: fc.option(text) },
  { requiredKeys: ["success"] },
);

const byId = <Value>(value: fc.Arbitrary<Value>) =>
  fc.dictionary(
    id.filter((each) => each !== "__proto__"),
    value,
    { maxKeys: 3, noNullPrototype: true },
  );

/** All that a region of the simulated service holds. */
export const regionContent = fc.record({
  local_sandboxes: fc.uniqueArray(sandbox, {
    selector: (each) => each.local_sandbox_id,
    maxLength: 4,
  }),
  users: fc.uniqueArray(user, { selector: (each) => each.userId, maxLength: 3 }),
  universes: fc.uniqueArray(universe, { selector: (each) => each.universe_id, maxLength: 3 }),
  universe_data: byId(json),
  white_labels: byId(whiteLabel),
});
