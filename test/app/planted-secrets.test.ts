import { expect, it } from "vitest";
import { plantSecrets } from "../support/planted-secrets.ts";

it("a piece of a planted secret is found in any encoding", () => {
  const { plant, leaksIn } = plantSecrets();
  const secret = plant("some");
  const part = secret.slice(5, 13);
  const bytes = Buffer.from(`x${secret}`);
  const percent = Buffer.from(part).toString("hex").replaceAll(/../g, "%$&");
  for (const text of [
    part,
    part.toUpperCase(),
    Array.from(part).toReversed().join(""),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.subarray(2).toString("hex"),
    percent,
  ]) {
    expect([text, leaksIn(`a ${text} b`)]).toEqual([text, ["some"]]);
  }
  expect(leaksIn(`${part.slice(1)} ${part.slice(0, 7)}`)).toEqual([]);
});
