import { format, inspect } from "node:util";
import { expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";

const value = "sk-live-4242";
const secret = new Secret(value);

it("a secret is given by reveal, and is a mask where text is asked for", () => {
  expect(secret.reveal()).toBe(value);
  expect(String(secret)).toBe("[secret]");
  expect(JSON.stringify({ secret })).toBe('{"secret":"[secret]"}');
  expect(inspect({ secret })).toBe("{ secret: [secret] }");
});

it.each([
  ["a template", () => `key ${String(secret)}, ${JSON.stringify([secret])}`],
  ["join", () => [secret, secret].join(",")],
  ["util.inspect", () => inspect({ secret }, { depth: null, showHidden: true })],
  ["util.inspect without custom output", () => inspect(secret, { customInspect: false })],
  ["%s and %j", () => format("%s %j", secret, { secret })],
  ["%o and %O", () => format("%o %O", secret, secret)],
  ["its own properties", () => JSON.stringify(Object.getOwnPropertyDescriptors(secret))],
  ["a copy", () => inspect(structuredClone({ secret }), { showHidden: true })],
  ["an error's cause", () => inspect(new Error("failed", { cause: secret }), { depth: null })],
])("a secret is not shown by %s", (_way, show) => {
  expect(show()).not.toContain("4242");
});
