import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load-config.ts";
import { faultyAlerts } from "./faulty-alerts.ts";
import { faultLines } from "./support.ts";

describe("a wrong alert setting is told by path, what was found and what is allowed", () => {
  it.each(faultyAlerts)("%s", (_title, value, line) => {
    expect(faultLines(parseConfig(value))).toStrictEqual([line]);
  });
});
