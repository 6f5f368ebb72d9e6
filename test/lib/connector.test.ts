import { expect, it } from "vitest";
import { createConnector } from "../../src/lib/connector.ts";
import { ca } from "../support/private-ca.ts";
import { cert } from "../support/self-signed.ts";

it("connectors that trust the same certificates share them", () => {
  const contextOf = (trusted: string | null) =>
    createConnector({ timeoutMs: 1_000, ca: trusted }).secureContext;
  const first = contextOf(ca);
  expect(first).toBeDefined();
  expect(contextOf(ca)).toBe(first);
  expect(contextOf(cert)).not.toBe(first);
  expect(contextOf(null)).toBeUndefined();
});
