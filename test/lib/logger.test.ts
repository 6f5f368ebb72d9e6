import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createLogger, writePaced } from "../../src/lib/logger.ts";
import type { Logger, LogLine } from "../../src/lib/logger.ts";
import { Secret } from "../../src/lib/secret.ts";

interface Written {
  readonly log: Logger;
  readonly lines: () => readonly string[];
}

function logTo(format: "json" | "pretty", level = "info"): Written {
  let text = "";
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    log: createLogger({ level, format }, destination),
    lines: () => text.split("\n").filter((line) => line !== ""),
  };
}

const value = "sk-live-4242";

describe.each(["json", "pretty"] as const)("a log line in %s", (format) => {
  it("carries the message, the level and the fields", () => {
    const { log, lines } = logTo(format);
    log.warn({ event: "store.slow", took_ms: 4711 }, "a server changed");
    expect(lines()).toHaveLength(1);
    for (const part of [/warn/i, "a server changed", "4711"]) expect(lines()[0]).toMatch(part);
  });

  it.each(["apiKey", "api_key", "authorization", "auth_data", "metadata", "url", "token"])(
    "masks %s, at the top and one level down",
    (field) => {
      const { log, lines } = logTo(format);
      log.info({ [field]: value, nested: { [field]: { deep: value }, port: 4711 } }, "seen");
      expect(lines().join()).not.toContain(value);
      expect(lines().join()).toContain("[secret]");
      expect(lines().join()).toContain("4711");
    },
  );

  it("masks a secret in any field, at any depth, and what hangs on an error", () => {
    const { log, lines } = logTo(format);
    const err = Object.assign(new Error("it failed"), { url: value, key: new Secret(value) });
    log.error({ err, a: { b: { c: { d: new Secret(value) } } }, list: [new Secret(value)] }, "x");
    expect(lines().join()).not.toContain(value);
    expect(lines().join()).toContain("it failed");
  });

  it("is one line, whatever the names and values of its fields", () => {
    const { log, lines } = logTo(format);
    const odd = 'git"\nlevel=fatal \u001b[2J\u009b\u202e\u2028\u200b';
    log.info({ benchmark: odd, nested: { [odd]: [odd] }, error: 4711 }, `a server changed ${odd}`);
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain("4711");
    expect(lines()[0]).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it("has an error with its stack, and nothing that a terminal would obey", () => {
    const { log, lines } = logTo(format);
    log.error({ err: new Error("it \u001b[2J\u202e failed") }, "x");
    expect(lines().join()).toContain("logger.test.ts");
    expect(lines().join()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it.each(["info", "warn", "silent"])("is the same among many at level %s", async (level) => {
    const odd = 'two\nlines "quoted" \u001b[31m \ud800 沙箱 🏖';
    const all: readonly LogLine[] = [
      {
        level: "info",
        fields: { event: "server.changed", server_name: odd, to: null },
        msg: 'a "b"',
      },
      { level: "warn", fields: { event: "incident.fired", api_key: value, servers: 47 }, msg: "" },
      { level: "info", fields: {}, msg: "no more" },
    ];
    const [one, many] = [logTo(format, level), logTo(format, level)];
    for (const { level: own, fields, msg } of all) one.log[own](fields, msg);
    await writePaced(many.log, all);
    const untimed = ({ lines }: Written) =>
      lines().map((line) => line.replace(/"time":"[^"]*"|\d\d:\d\d:\d\d/, ""));
    expect(untimed(many)).toEqual(untimed(one));
    expect(untimed(one)).toHaveLength({ info: 3, warn: 1 }[level] ?? 0);
  });
});

it("a JSON line gives its level in words and its time in UTC, and nothing of the machine", () => {
  const { log, lines } = logTo("json");
  log.info({ event: "started" }, "up");
  const line: unknown = JSON.parse(lines()[0] ?? "");
  expect(line).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    event: "started",
    msg: "up",
  });
});
