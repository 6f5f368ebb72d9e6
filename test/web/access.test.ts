import { scryptSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AccessSettings, Role } from "../../src/lib/access.ts";
import { parseNetwork } from "../../src/lib/networks.ts";
import type { PasswordHash } from "../../src/lib/password.ts";
import { Secret } from "../../src/lib/secret.ts";
import { serveWeb } from "./support/serve-web.ts";

/** Cheaper than any that a configuration may have. */
function hashOf(password: string): PasswordHash {
  const salt = Buffer.from("salt");
  const hash = scryptSync(password, salt, 32, { N: 16, r: 1, p: 1 });
  return { ln: 4, r: 1, p: 1, salt, hash };
}

function token(name: string, role: Role) {
  return { name, role, token: new Secret(`${name}-token`) };
}

const settings: AccessSettings = {
  anonymous: "health",
  tokens: [token("prometheus", "metrics"), token("pager", "operator")],
  users: [
    { name: "alice", role: "admin", passwordHash: hashOf("wonderland") },
    { name: "bob", role: "viewer", passwordHash: hashOf("b:uilder") },
  ],
  proxy: null,
};

function bearer(value: string): RequestInit {
  return { headers: { authorization: `Bearer ${value}` } };
}

function basic(user: string, password: string): RequestInit {
  const value = Buffer.from(`${user}:${password}`).toString("base64");
  return { headers: { authorization: `Basic ${value}` } };
}

/** Acknowledges an incident. */
function acting(init: RequestInit = {}): RequestInit {
  const headers = { "content-type": "application/json", ...Object(init.headers) };
  return { method: "POST", headers, body: JSON.stringify({ author: "somebody else" }) };
}

const acknowledge = "/api/v1/incidents/some-incident/acknowledge";

describe("a request without credentials", () => {
  it("has the anonymous role, and browsers are asked for credentials for anything else", async () => {
    const { get } = await serveWeb({ settings });
    expect((await get("/-/healthy")).status).toBe(200);
    for (const path of ["/", "/metrics", "/api/v1/targets", "/api/openapi.json"]) {
      const { status, headers, text } = await get(path);
      expect([path, status]).toEqual([path, 401]);
      expect(headers.get("www-authenticate")).toMatch(/^Basic realm=/);
      expect(text).toContain("Send a token");
    }
  });

  it("is refused everything where anonymous requests have no role", async () => {
    const { get } = await serveWeb({ settings: { ...settings, anonymous: null } });
    expect((await get("/-/healthy")).status).toBe(401);
  });
});

describe("a token", () => {
  it("allows what its role allows, and nothing else", async () => {
    const { get } = await serveWeb({ settings });
    expect((await get("/metrics", bearer("prometheus-token"))).status).toBe(200);
    const { status, text } = await get("/api/v1/targets", bearer("prometheus-token"));
    expect(status).toBe(403);
    expect(text).toContain("The role metrics does not allow this.");
  });

  it("can be sent as the password of its name", async () => {
    const { get } = await serveWeb({ settings });
    expect((await get("/metrics", basic("prometheus", "prometheus-token"))).status).toBe(200);
  });

  it.each(["prometheus-toke", "prometheus-token2", "PROMETHEUS-TOKEN", "x"])(
    "is compared as a whole: %s is wrong",
    async (value) => {
      const { get } = await serveWeb({ settings });
      expect((await get("/metrics", bearer(value))).status).toBe(401);
    },
  );
});

describe("a user", () => {
  it("has the role that is configured, with a password that may contain colons", async () => {
    const { get } = await serveWeb({ settings });
    expect((await get("/", basic("bob", "b:uilder"))).status).toBe(200);
    expect((await get(acknowledge, acting(basic("bob", "b:uilder")))).status).toBe(403);
    expect(
      (await get("/-/reload", { method: "POST", ...basic("alice", "wonderland") })).status,
    ).toBe(400);
  });

  it.each([
    ["with the wrong password", basic("alice", "wonder")],
    ["with the password of another", basic("alice", "b:uilder")],
    ["who is not configured", basic("mallory", "wonderland")],
    ["without a colon", { headers: { authorization: "Basic YWxpY2U=" } }],
    ["of another scheme", { headers: { authorization: "Digest alice" } }],
  ])("%s is refused", async (_, init) => {
    const { get } = await serveWeb({ settings });
    expect((await get("/", init)).status).toBe(401);
  });

  it("may send many requests at once", async () => {
    const { get } = await serveWeb({ settings });
    const all = await Promise.all(
      Array.from({ length: 30 }, () => get("/", basic("alice", "wonderland"))),
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe("wrong credentials", () => {
  it("are refused for a minute after the tenth, also when they come at once", async () => {
    const { get, clock } = await serveWeb({ settings });
    const tries = await Promise.all(
      Array.from({ length: 15 }, (_, index) => get("/", basic("alice", `guess ${index}`))),
    );
    const statuses = tries.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(5).fill(429)]);

    const limited = await get("/metrics", bearer("prometheus-token"));
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "60"]);
    expect((await get("/-/healthy")).status).toBe(200);
    clock.advance(60_000);
    expect((await get("/metrics", bearer("prometheus-token"))).status).toBe(200);
  });
});

describe("a proxy that authenticates users", () => {
  const trusted = [parseNetwork("127.0.0.0/8")].filter((network) => network !== undefined);
  const proxy = { header: "x-forwarded-user", trusted, role: "viewer" } as const;
  const named = (name: string): RequestInit => ({ headers: { "x-forwarded-user": name } });

  it("names users, who have the role of the user with that name or the default role", async () => {
    const { get, logged } = await serveWeb({ settings: { ...settings, proxy } });
    expect((await get("/", named("carol"))).status).toBe(200);
    expect((await get(acknowledge, acting(named("carol")))).status).toBe(403);
    expect((await get(acknowledge, acting(named("alice")))).status).toBe(200);
    expect(logged.at(-1)).toMatchObject({ event: "audit", user: "alice", role: "admin" });
  });

  it("is believed only at a trusted address", async () => {
    const elsewhere = [parseNetwork("192.0.2.0/24")].filter((network) => network !== undefined);
    const { get } = await serveWeb({
      settings: { ...settings, proxy: { ...proxy, trusted: elsewhere } },
    });
    expect((await get("/", named("alice"))).status).toBe(401);
  });
});

describe("what is done", () => {
  it("has the sender as its author, whatever the request says", async () => {
    const requests: unknown[] = [];
    const call = (_: unknown, request: unknown): Promise<object> => {
      requests.push(request);
      return Promise.resolve({});
    };
    const events = (): Promise<never> => Promise.reject(new Error("no events"));
    const { get } = await serveWeb({ settings, api: { call, events } });
    await get(acknowledge, acting(bearer("pager-token")));
    expect(requests).toEqual([{ id: "some-incident", author: "pager" }]);
  });

  it("is logged with its ids if it succeeds, and a look-up with whether it shows secrets", async () => {
    const open = { ...settings, tokens: [token("ann", "caller"), token("pager", "operator")] };
    const { get, logged } = await serveWeb({ settings: open });
    const path = "/api/v1/lookups/user";
    const lookUp = (name: string, body: object) =>
      get(path, { ...acting(bearer(`${name}-token`)), body: JSON.stringify(body) });
    await lookUp("ann", { id: "u1" });
    await lookUp("ann", { id: "u1", show_secrets: true });
    expect((await lookUp("pager", { id: "u1", show_secrets: true })).status).toBe(403);
    expect(logged).toMatchObject([
      { path, user: "ann", secrets: false },
      { path, user: "ann", secrets: true },
    ]);
  });

  it("is reported with who did it, and what only reads is not", async () => {
    const { get, logged } = await serveWeb({ settings });
    await get("/api/v1/targets", bearer("pager-token"));
    await get(acknowledge, acting(bearer("prometheus-token")));
    expect(logged).toEqual([]);
    await get(`${acknowledge}?a=b`, acting(bearer("pager-token")));
    expect(logged).toEqual([
      {
        event: "audit",
        user: "pager",
        role: "operator",
        address: "127.0.0.1",
        method: "POST",
        path: "/api/v1/incidents/:id/acknowledge",
        operation: "acknowledgeIncident",
        status: 400,
        secrets: false,
      },
    ]);
  });
});

it("sends headers that keep a page from being framed, sniffed, cached or read by other sites", async () => {
  const { get } = await serveWeb();
  for (const path of ["/", "/metrics", "/-/ready", "/api/v1/targets", "/nothing"]) {
    const { headers } = await get(path);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; frame-ancestors 'none'/,
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    const caching = headers.has("etag") ? "private, no-cache" : "no-store";
    expect([path, headers.get("cache-control")]).toEqual([path, caching]);
  }
});
