import { describe, expect, it } from "vitest";
import { engines } from "../support/engines.ts";

describe.each(engines)("a list without values in a query on $name", (engine) => {
  it("is valid, and holds nothing", async () => {
    const { kysely } = await engine.open();
    const isIn = (operator: "in" | "not in") =>
      kysely.selectFrom("commit_sequence").where("value", operator, []).selectAll().execute();
    expect(await isIn("in")).toHaveLength(0);
    expect(await isIn("not in")).toHaveLength(1);
    const nothing = kysely.selectFrom("gaps").where("target_id", "in", []).select("target_id");
    const within = kysely.selectFrom("commit_sequence").where("value", "in", nothing).selectAll();
    expect(await within.execute()).toEqual([]);
  });
});
