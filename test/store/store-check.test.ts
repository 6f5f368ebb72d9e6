import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { damage, execute, runOn, storeWith } from "./support/store-files.ts";

const bodyOf = (type: string): string =>
  `{"id":"n","receiver":"r","summary":"s","rule":"x","severity":"info","type":"${type}","incidents":[]}`;

describe("store check", () => {
  it("says that a store is sound, also while a daemon has it", async () => {
    const path = await storeWith("us");
    const store = openStore(path);
    onTestFinished(() => store.close());
    const { code, out } = await runOn(path, "store", "check");
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/is sound: .* MiB, schema version 1\n$/),
    ]);
  });

  const incident = (id: string, phase: string, resolvedAt: number | null) =>
    `insert into incidents (id, revision, rule, rule_fingerprint, severity, subject, region, phase, held_since_ms, held_since_polls, flapping, started_at_ms, fired_at_ms, resolved_at_ms) values ('${id}', 0, 'down', 'x', 'info', 'region', 'us', '${phase}', 0, 0, 0, 1, 1, ${resolvedAt})`;
  it("finds nothing wrong with an incident that a silence suppresses", async () => {
    const path = await storeWith("us");
    execute(path, `${incident("a", "firing", null)}; update incidents set fired_at_ms = null`);
    expect(await runOn(path, "store", "check")).toMatchObject({ code: 0, err: "" });
  });

  it("finds nothing wrong with a report that is to be delivered", async () => {
    const path = await storeWith("us");
    execute(
      path,
      `insert into notifications values (1, 'n', 'r', 'pending', 0, 0, 0, 0, 0, null, null, null, null, '${bodyOf("report")}')`,
    );
    expect(await runOn(path, "store", "check")).toMatchObject({ code: 0, err: "" });
  });

  const notification = (seq: number, state: string, waitsFor: number | null) =>
    `insert into notifications values (${seq}, 'n${seq}', 'oncall', '${state}', 0, 0, 0, 0, 0, ${waitsFor}, null, ${state === "pending" ? null : 1}, null, '${bodyOf("incident.firing")}'); insert into outbox_items values (null, 'oncall', 'a', 's', 'incident.firing', '{}', 0, ${seq})`;

  it.each([
    ["delete from targets", "1 row of gaps without the row of targets"],
    [
      [incident("a", "pending", null), incident("b", "pending", null)].join(";"),
      "open incidents of the same rule and subject: 1",
    ],
    [incident("a", "firing", null), "incidents whose phase contradicts their times: 1"],
    [
      "insert into outbox_items values (null, 'r', 'gone', 's', 'incident.firing', '{}', 0, null)",
      "outbox items without their incident: 1",
    ],
    [
      "insert into acknowledgements values ('gone', 'ann', null, 0, null, null)",
      "acknowledgements without their incident: 1",
    ],
    [
      `insert into notifications values (1, 'n', 'r', 'pending', 0, 0, 0, 0, 0, null, null, null, null, '${bodyOf("incident.firing")}')`,
      "pending notifications without an outbox item: 1",
    ],
    [
      `insert into notifications values (1, 'n', 'r', 'dead', 0, 0, 0, 0, 0, null, null, null, null, '${bodyOf("incident.firing")}')`,
      "notifications whose state contradicts their times: 1",
    ],
    [
      [
        incident("a", "pending", null),
        notification(1, "dead", null),
        notification(2, "pending", 1),
      ].join(";"),
      "notifications that wait for one that is not pending before them: 1",
    ],
    ["insert into gaps values (1, 5, 30, 'late')", "gaps that overlap: 1"],
    [
      "insert into counted_values values (1, 'n'); insert into rollups values ('tag', '1h', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, null, null, 0, 0, 0, 0, 0, null)",
      "rollups of a value without those of all servers: 1",
    ],
    [
      "insert into counted_values values (1, ''); insert into rollups values ('server', '1h', 0, 1, 1, 5, 6, 0, 0, 0, 0, 0, 0, null, null, 0, 0, 0, 0, 0, null)",
      "rollups with a negative time or count, or with more unobserved time than time: 1",
    ],
    [
      "insert into sandboxes values (1, 1, 's', null, 0, 'eror', null, 0, 0, 0, 0, null)",
      "row 1 of the table sandboxes cannot be read; sandwatch continues without it",
    ],
    [
      "insert into silences (id, match, author, reason, created_at_ms, starts_at_ms, ends_at_ms) values ('s1', '{', 'ann', 'r', 0, 0, 0)",
      "row s1 of the table silences cannot be read; sandwatch continues without it",
    ],
    [
      "update commit_sequence set value = 1; insert into sandboxes values (1, 1, 's', null, 0, 'idle', 'idle', 0, 0, 0, 0, null); insert into changes values (1, 1, 0, null, 1, 'absent', 'idle', null, null, 0, 7, null)",
      "changes whose attributes are not stored: 1",
    ],
    ["insert into value_sets values (9, 'n', '', '[', 0)", "values that are not JSON: 1"],
  ])("finds what %s leaves", async (statements, fault) => {
    const path = await storeWith("us");
    execute(
      path,
      `pragma foreign_keys = off; insert into gaps values (1, 10, 20, 'late'); ${statements}`,
    );
    const { code, err } = await runOn(path, "store", "check");
    expect([code, err]).toEqual([1, expect.stringContaining(`has 1 fault:\n  ${fault}\n`)]);
    // The daemon starts on it all the same, and it can be backed up.
    const file = join(tempFolder(), "backup.db");
    expect(await runOn(path, "backup", file)).toMatchObject({ code: 0 });
    expect((await runCommand(["store", "check", file])).err).toContain(fault);
  });

  it("finds damaged pages", async () => {
    const path = await storeWith("us");
    damage(path);
    const { code, err } = await runOn(path, "store", "check");
    expect([code, err]).toEqual([1, expect.stringMatching(/SQLite: |is damaged/)]);
  });

  it("needs the configuration or the file of a backup", async () => {
    expect(await runCommand(["store", "check"])).toMatchObject({ code: 2 });
    expect(await runOn("x", "store", "check", "y")).toMatchObject({ code: 2 });
  });
});
