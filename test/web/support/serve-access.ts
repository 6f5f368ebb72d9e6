import { scryptSync } from "node:crypto";
import type { AccessSettings, Role } from "../../../src/lib/access.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { serveWeb } from "./serve-web.ts";

export function user(name: string, role: Role, password: string) {
  const salt = Buffer.from("salt");
  // Cheaper than any that a configuration may have.
  const hash = scryptSync(password, salt, 32, { N: 16, r: 1, p: 1 });
  return { name, role, passwordHash: { ln: 4, r: 1, p: 1, salt, hash } };
}

const token = (name: string, role: Role) => {
  return { name, role, token: new Secret(`${name}-token`) };
};

export const settings: AccessSettings = {
  anonymous: "health",
  tokens: [token("prometheus", "metrics"), token("pager", "operator"), token("ann", "caller")],
  users: [user("alice", "admin", "wonderland"), user("bob", "viewer", "b:uilder")],
  proxy: null,
};

export const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
export const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

export const acknowledge = "/api/v1/incidents/some-incident/acknowledge";

/** A server with these tokens and users. */
export async function serve(
  more: Parameters<typeof serveWeb>[0] = {},
  at?: Parameters<typeof serveWeb>[1],
) {
  const server = await serveWeb({ settings, ...more }, at);
  const post = (path: string, headers: object, body: object = { author: "somebody else" }) =>
    server.get(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return { ...server, post };
}
