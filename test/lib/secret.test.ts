import { Console } from "node:console";
import { Writable } from "node:stream";
import { format, inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";

const value = "sk-live-4242";
const secret = new Secret(value);

function consoleText(...args: readonly unknown[]): string {
  let text = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  new Console({ stdout, stderr: stdout }).log(...args);
  return text;
}

function messageOf(throwing: () => unknown): string {
  try {
    throwing();
  } catch (error) {
    return inspect(error, { depth: null, showHidden: true });
  }
  throw new Error("it did not throw");
}

describe("a secret", () => {
  it("is given by reveal, and only there", () => {
    expect(secret.reveal()).toBe(value);
  });

  it.each([
    ["String()", () => String(secret)],
    ["a template", () => `key ${String(secret)}, ${JSON.stringify([secret])}`],
    ["concatenation", () => "key ".concat(secret.toString())],
    ["join", () => [secret, secret].join(",")],
    ["JSON.stringify", () => JSON.stringify({ nested: { secret } })],
    ["util.inspect", () => inspect({ secret }, { depth: null, showHidden: true })],
    ["util.inspect without custom output", () => inspect(secret, { customInspect: false })],
    ["%s", () => format("%s", secret)],
    ["%j", () => format("%j", { secret })],
    ["%o", () => format("%o", { secret })],
    ["%O", () => format("%O", secret)],
    ["console.log", () => consoleText("key", secret, [secret], { secret })],
    ["its own properties", () => JSON.stringify(Object.getOwnPropertyDescriptors(secret))],
    ["a copy", () => inspect(structuredClone({ secret }), { showHidden: true })],
    ["an error's message", () => messageOf(() => expectKey(secret))],
    ["an error's cause", () => messageOf(() => fail({ cause: secret }))],
  ])("is not seen through %s", (_way, show) => {
    const shown = show();
    expect(shown).not.toContain(value);
    expect(shown).not.toContain("4242");
  });

  it("shows a mask where text is asked for", () => {
    expect(String(secret)).toBe("[secret]");
    expect(JSON.stringify({ secret })).toBe('{"secret":"[secret]"}');
    expect(inspect({ secret })).toBe("{ secret: [secret] }");
  });
});

function expectKey(key: Secret): never {
  throw new TypeError(`${String(key)} is not a key`);
}

function fail(options: ErrorOptions): never {
  throw new Error("failed", options);
}
