import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allows, roles, type AccessSettings } from "../../src/lib/access.ts";
import { callerFromHeader, callerToHeader, type Caller } from "../../src/lib/forwarded-caller.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createAccessControl } from "../../src/web/access.ts";
import { startPeer } from "../service/peer.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { listenOnLoopback } from "../support/listen.ts";
import { ca, cert, key } from "../support/private-ca.ts";
import { fixedCases } from "../support/random-cases.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { replicaToken, serveReplica, type ReplicaOptions } from "./support/serve-replicas.ts";

const settings: AccessSettings = {
  anonymous: null,
  tokens: roles.map((role) => ({
    name: `an ${role} 🏖`,
    role,
    token: new Secret(`token-of-${role}`),
  })),
  users: [],
  proxy: null,
};
const bearer = (role: string) => ({ authorization: `Bearer token-of-${role}` });
const ann: Caller = { name: "ann", role: "admin", address: "192.0.2.7" };
const asReplica = (caller = callerToHeader(ann), token = replicaToken) => ({
  authorization: `Replica ${token}`,
  "sandwatch-caller": caller,
});

/** @param client whether clients need a certificate of the same authority */
function tls(client = false) {
  const folder = tempFolder();
  const certificateFile = join(folder, "crt");
  const keyFile = join(folder, "key");
  const caFile = join(folder, "ca");
  writeFileSync(certificateFile, cert);
  writeFileSync(keyFile, key);
  writeFileSync(caFile, ca);
  const clientCaFile = client ? caFile : null;
  return { certificateFile, keyFile, clientCaFile, minimumVersion: "1.2" } as const;
}

const lookUp = "/lookups/user";
const poll = "/targets/poll";

/** Two replicas, each with a key of its own; the first one also knows a third one that cannot be reached. */
async function serveTwo(options: Partial<Parameters<typeof serveReplica>[0]> = {}) {
  const owner = await serveReplica({ name: "owner", owners: { a: null, b: "self" }, settings });
  const first = await serveReplica({
    name: "first",
    owners: { a: "self", b: owner.address, c: "http://127.0.0.1:1", d: null },
    settings,
    ...options,
  });
  return { owner, first };
}

describe("a request that uses a key", () => {
  it.each(roles)("of another replica acts there for the role %s", async (role) => {
    const { first, owner } = await serveTwo();
    const answer = await first.post(lookUp, { id: "u1", key: "b" }, bearer(role));
    expect(answer.status).toBe(allows(role, "call") ? 200 : 403);
    const polls = await first.post(poll, { key: ["a", "b"] }, bearer(role));
    expect(polls.status).toBe(allows(role, "act") ? 200 : 403);
    expect([first.polled, owner.polled]).toEqual(allows(role, "act") ? [["a"], ["b"]] : [[], []]);
    const who = { event: "audit", user: `an ${role} 🏖`, role, address: "127.0.0.1" };
    const done = { ...who, forwarded_by: "127.0.0.1", status: 200 };
    const used = [
      ["lookUp", "call"],
      ["pollTargets", "act"],
    ] as const;
    const permitted = used.filter(([, permission]) => allows(role, permission));
    expect(owner.logged).toMatchObject(permitted.map(([operation]) => ({ ...done, operation })));
  });

  it("is answered by the replica that owns it, masked or not as the caller asks", async () => {
    const { first, owner } = await serveTwo();
    const masked = await first.post(lookUp, { id: "u1", key: "b" }, bearer("caller"));
    expect(masked.body).toMatchObject({ key: "b", answer: { createdAt: "owner" } });
    expect(masked.text).not.toContain("S3CRET");
    const shown = { id: "u1", key: "b", show_secrets: true };
    expect((await first.post(lookUp, shown, bearer("caller"))).text).toContain("S3CRET");
    expect(owner.logged.at(-1)).toMatchObject({ operation: "lookUp", secrets: true });
    const own = await first.post(lookUp, { id: "u1", key: "a" }, bearer("caller"));
    expect(own.body).toMatchObject({ key: "a", answer: { createdAt: "first" } });
    expect(owner.service.paths).toHaveLength(2);
    const conformance = await first.post("/conformance", { key: "b" }, bearer("caller"));
    expect(conformance.body).toMatchObject({ key: "b" });
    expect(owner.logged.at(-1)).toMatchObject({ operation: "checkConformance" });
  });

  it("polls the targets of each replica there, and answers with all of them in order", async () => {
    const { first } = await serveTwo();
    const { body } = await first.post(poll, { key: ["b", "a", "unknown"] }, bearer("operator"));
    expect(body.targets.map((each: { readonly key: string }) => each.key)).toEqual(["a", "b"]);
    expect(body.notes).toEqual([expect.stringContaining("unknown")]);
  });

  it("is refused in the words of its owner", async () => {
    const { first, owner } = await serveTwo();
    const wrong = await first.post(lookUp, { key: "b" }, bearer("caller"));
    expect(wrong.status).toBe(400);
    expect(wrong.body).toMatchObject({ detail: "user requires an id.", errors: [{ path: "id" }] });
    const again = await first.post("/conformance", { key: "b", user: 1 }, bearer("caller"));
    expect(again.status).toBe(400);
    const known = await first.post(lookUp, { key: "e" }, bearer("caller"));
    expect(known.body.detail).toMatch(/^No target matches. Choose one/);
    expect(owner.errors).toEqual([]);
  });

  it.each([
    ["whose owner cannot be reached", "c", /^Only the replica.*Nothing listens.*in 15 s\.$/],
    ["that nobody owns", "d", /^The key d moves between replicas/],
  ])("%s is answered by 503, with when to try again", async (_, keyName, detail) => {
    const { first } = await serveTwo();
    const answer = await first.post(lookUp, { id: "u1", key: keyName }, bearer("caller"));
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("15");
    expect(answer.body.detail).toMatch(detail);
    expect(JSON.stringify(first.logged)).not.toContain("T0PSECRET");
  });

  it("whose owner closes the connection, or is no sandwatch, is answered by 503", async () => {
    const server = createServer((socket) => socket.destroy());
    const address = `http://127.0.0.1:${await listenOnLoopback(server)}`;
    const { first } = await serveTwo({ owners: { a: "self", b: address } });
    const answer = await first.post(lookUp, { id: "u1", key: "b" }, bearer("caller"));
    expect([answer.status, answer.body.detail]).toEqual([503, expect.stringContaining("respond")]);
  });

  it("whose owner is frozen is answered by 503 once the lease of that has ended", async () => {
    const asked = Promise.withResolvers<void>();
    const frozen = await startPeer(() => asked.resolve());
    let isLive = true;
    const { first } = await serveTwo({
      owners: { a: "self", b: frozen.baseUrl },
      isLive: () => isLive,
    });
    const answering = first.post(lookUp, { id: "u1", key: "b" }, bearer("caller"));
    await asked.promise;
    first.clock.advance(14_000);
    isLive = false;
    first.clock.advance(1_000);
    expect((await answering).status).toBe(503);
  });

  it("is forwarded once at most", async () => {
    const owners: Record<string, string | null> = { a: null };
    const one = await serveReplica({ name: "one", owners });
    owners["a"] = one.address;
    const other = await serveReplica({ name: "other", owners: { a: one.address } });
    owners["a"] = other.address;
    const answer = await other.post(lookUp, { id: "u1", key: "a" });
    expect([answer.status, answer.body.detail]).toEqual([503, expect.stringContaining("moves")]);
    expect([one.logged.length, other.logged.length]).toEqual([1, 1]);
  });

  it("is forwarded with TLS to a replica whose authority is configured, with a certificate where one is needed", async () => {
    const owner = await serveReplica({ name: "owner", owners: { b: "self" }, web: { tls: tls() } });
    const owners = { b: owner.address };
    const forward = async (options: Pick<ReplicaOptions, "ca" | "ownCertificate">) => {
      const { post } = await serveReplica({ name: "first", owners, ...options });
      return post(lookUp, { id: "u1" });
    };
    expect((await forward({ ca })).body).toMatchObject({ outcome: "answered" });
    const untrusted = await forward({});
    expect([untrusted.status, untrusted.body.detail]).toEqual([
      503,
      expect.stringContaining("trust"),
    ]);
    const strict = await serveReplica({
      name: "owner",
      owners: { b: "self" },
      web: { tls: tls(true) },
    });
    owners.b = strict.address;
    expect((await forward({ ca })).status).toBe(503);
    expect((await forward({ ca, ownCertificate: cert + key })).status).toBe(200);
  });
});

describe("a request of another replica", () => {
  it("acts for whom it names, also where everybody may do everything", async () => {
    const { logged, post } = await serveReplica({ name: "owner", owners: { b: "self" } });
    expect((await post(lookUp, { id: "u1" }, asReplica())).status).toBe(200);
    expect(logged).toMatchObject([{ user: "ann", role: "admin", address: "192.0.2.7" }]);
    const viewer = callerToHeader({ ...ann, role: "viewer" });
    expect((await post(lookUp, { id: "u1" }, asReplica(viewer))).status).toBe(403);
  });

  it.each([
    ["with a wrong token", asReplica(undefined, "wrong")],
    ["with an empty token", asReplica(undefined, "")],
    [
      "with the token in another scheme",
      { ...asReplica(), authorization: `Bearer ${replicaToken}` },
    ],
    ["that names nobody", { authorization: `Replica ${replicaToken}` }],
    ["that names nobody readable", asReplica("e30")],
    ["without a token", { "sandwatch-caller": callerToHeader(ann) }],
  ])("%s is refused", async (_, headers: Readonly<Record<string, string>>) => {
    const { post, logged, service } = await serveReplica({
      name: "owner",
      owners: { b: "self" },
      settings,
    });
    expect((await post(lookUp, { id: "u1" }, headers)).status).toBe(401);
    expect([logged, service.paths]).toEqual([[], []]);
  });

  it("with a wrong token is refused where everybody may do everything", async () => {
    const { post } = await serveReplica({ name: "owner", owners: { b: "self" } });
    const wrong = asReplica(undefined, "wrong");
    expect((await post(lookUp, { id: "u1" }, wrong)).status).toBe(401);
  });

  it("that uses no key is refused", async () => {
    const { get, post } = await serveReplica({ name: "owner", owners: { b: "self" } });
    for (const path of ["/", "/metrics", "/api/v1/targets", "/api/v1/incidents"])
      expect([path, (await get(path, { headers: asReplica() })).status]).toEqual([path, 401]);
    expect((await post("/history/forget", {}, asReplica())).status).toBe(401);
  });

  it("is refused where there are no replicas", async () => {
    const access = createAccessControl(settings, createFakeClock());
    const { post } = await serveReplica({ name: "owner", owners: { b: "self" }, web: { access } });
    expect((await post(lookUp, { id: "u1" }, asReplica())).status).toBe(401);
    expect((await post(lookUp, { id: "u1" }, asReplica(undefined, ""))).status).toBe(401);
  });

  it("names anybody, or is refused, whatever its headers are: 100 random ones", async () => {
    const { post, errors, clock } = await serveReplica({ name: "owner", owners: { b: "self" } });
    const caller = fc.record({
      name: fc.oneof(fc.constant(null), fc.string({ unit: "binary", maxLength: 200 })),
      role: fc.constantFrom(...roles),
      address: fc.string({ unit: "binary", maxLength: 50 }),
    });
    const text = fc.stringMatching(/^[\x21-\x7e]{1,99}$/);
    const json = fc.json().map((each) => Buffer.from(each).toString("base64url"));
    const header = fc.oneof(caller.map(callerToHeader), text, json);
    const property = fc.asyncProperty(header, async (written) => {
      const named = callerFromHeader(written);
      const { status } = await post(lookUp, { id: "u1" }, asReplica(written));
      const accepted = named !== null && allows(named.role, "call") ? 200 : 403;
      expect(status).toBe(named === null ? 401 : accepted);
      clock.advance(60_000);
    });
    await fc.assert(property, fixedCases(100));
    expect(errors).toEqual([]);
    const isSame = fc.property(caller, (each) => {
      expect(callerFromHeader(callerToHeader(each))).toEqual(each);
    });
    fc.assert(isSame, fixedCases(100));
  });
});
