import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createLogger, writeLines } from "../../src/lib/logger.ts";
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
    expect(lines()[0]).toMatch(/warn/i);
    expect(lines()[0]).toContain("a server changed");
    expect(lines()[0]).toContain("4711");
  });

  it("stays away below the level", () => {
    const { log, lines } = logTo(format, "warn");
    log.info("not worth it");
    expect(lines()).toEqual([]);
  });

  it.each([
    "apiKey",
    "api_key",
    "authorization",
    "auth_data",
    "metadata",
    "mcp_server_url",
    "url",
    "secret",
    "password",
    "token",
  ])("masks %s, at the top and one level down", (field) => {
    const { log, lines } = logTo(format);
    log.info({ [field]: value, nested: { [field]: { deep: value }, port: 4711 } }, "seen");
    expect(lines().join()).not.toContain(value);
    expect(lines().join()).toContain("[secret]");
    expect(lines().join()).toContain("4711");
  });

  it("masks a secret in any field, at any depth", () => {
    const { log, lines } = logTo(format);
    log.info({ a: { b: { c: { d: new Secret(value) } } }, list: [new Secret(value)] }, "seen");
    expect(lines().join()).not.toContain(value);
    expect(lines().join()).toContain("[secret]");
  });

  it("masks what hangs on an error", () => {
    const { log, lines } = logTo(format);
    const err = Object.assign(new Error("it failed"), { url: value, key: new Secret(value) });
    log.error({ err }, "broken");
    expect(lines().join()).not.toContain(value);
    expect(lines().join()).toContain("it failed");
  });

  it("is one line also where a status is the name of a field", () => {
    const { log, lines } = logTo(format);
    log.info({ event: "target.first_listing", idle: 3, error: 4711 }, "listed");
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain("4711");
  });

  it("keeps a name with line breaks and control characters on one line", () => {
    const { log, lines } = logTo(format);
    log.info({ benchmark: 'git"\nlevel=fatal \u001b[2J' }, "a server changed");
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).not.toContain("\u001b[2J");
  });
});

describe.each(["json", "pretty"] as const)("many lines at once in %s", (format) => {
  const odd = 'two\nlines "quoted" \u001b[31m \ud800 沙箱 🏖';
  const all: readonly LogLine[] = [
    {
      level: "info",
      fields: { event: "server.changed", server_name: odd, to: null },
      msg: odd.slice(4),
    },
    { level: "warn", fields: { event: "incident.fired", api_key: value, servers: 4711 }, msg: "" },
    { level: "info", fields: {}, msg: "no more" },
  ];

  it.each(["info", "warn", "silent"])(
    "are those that as many calls write, at level %s",
    (level) => {
      const [one, many] = [logTo(format, level), logTo(format, level)];
      for (const { level: own, fields, msg } of all) one.log[own](fields, msg);
      expect(writeLines(many.log, all.values())).toBe(false);
      const untimed = ({ lines }: Written) =>
        lines().map((line) => line.replace(/"time":"[^"]*"|\d\d:\d\d:\d\d/, ""));
      expect(untimed(many)).toEqual(untimed(one));
      expect(untimed(one)).toHaveLength({ info: 3, warn: 1 }[level] ?? 0);
    },
  );

  it("tell their time as a single one does, and reach a logger of another make", () => {
    const { log, lines } = logTo(format);
    expect(writeLines(log.child({ port: 4711 }), all.values(), 1)).toBe(true);
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain("4711");
    writeLines(log, all.slice(2).values());
    const time = /\d\d:\d\d:\d\d(?:\.\d{3}Z)?/;
    const [first, second] = lines().map((line) => time.exec(line)?.[0].length);
    expect(first).toBe(second);
  });
});

it("a JSON line tells its level in words and its time in UTC, and nothing of the machine", () => {
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
