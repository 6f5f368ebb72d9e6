import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { roles, type AccessSettings } from "../../src/lib/access.ts";
import { Secret } from "../../src/lib/secret.ts";
import { serveWeb } from "./support/serve-web.ts";

const document = readFileSync(join(import.meta.dirname, "../../docs/access.md"), "utf8");

/** The rows of the document's table of requests. */
const rows = Array.from(
  document.matchAll(/^\| `(GET|POST) (\/\S*)` +\|(.*)\|$/gm),
  ([, method = "", path = "", cells = ""]) => ({
    method,
    path,
    permitted: cells.split("|").map((cell) => cell.trim() === "yes"),
  }),
);

const settings: AccessSettings = {
  anonymous: null,
  tokens: roles.map((role) => ({ name: role, role, token: new Secret(`token-of-${role}`) })),
  users: [],
  proxy: null,
};

describe("the table of roles in docs/access.md", () => {
  it("has a row for each route", () => {
    expect(rows.length).toBeGreaterThan(25);
  });

  it("says which roles may make each request", async () => {
    const { address } = await serveWeb({ settings });
    for (const { method, path, permitted } of rows) {
      const existing = path.replace("/runbooks/{name}", "/runbooks/pool");
      const url = address + existing.replaceAll(/\{\w+\}/g, "some");
      const headers = { ...(method === "POST" && { "content-type": "application/json" }) };
      const body = method === "POST" && path !== "/-/reload" ? "{}" : null;
      const send = async (authorization: object): Promise<number> => {
        const ending = new AbortController();
        const { signal } = ending;
        const init = { method, headers: { ...headers, ...authorization }, body, signal };
        const { status } = await fetch(url, init);
        // The stream of events has no end.
        ending.abort();
        return status;
      };
      const answers: boolean[] = [];
      for (const role of roles) {
        const status = await send({ authorization: `Bearer token-of-${role}` });
        expect([path, role, [401, 404, 405].includes(status)]).toEqual([path, role, false]);
        answers.push(status !== 403);
      }
      expect([method, path, answers]).toEqual([method, path, permitted]);
      expect([method, path, await send({})]).toEqual([method, path, 401]);
    }
  });
});
