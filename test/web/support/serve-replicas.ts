import { onTestFinished } from "vitest";
import type { KeysContext, ServiceContext, StoreContext } from "../../../src/api/context.ts";
import { createForwarding, createReplicaClients } from "../../../src/api/forwarding.ts";
import { createApi } from "../../../src/api/operation.ts";
import { openAccess, type AccessSettings } from "../../../src/lib/access.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createKeyLimits } from "../../../src/polling/key-limits.ts";
import { createAccessControl } from "../../../src/web/access.ts";
import type { WebDeps } from "../../../src/web/server.ts";
import { answerJson, createTestClient, startPeer, testKey } from "../../service/peer.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { watchFleet } from "../../support/fleet.ts";
import { serveWeb } from "./serve-web.ts";

/** By which the replicas authenticate to each other. */
export const replicaToken = "replica-T0PSECRET";

/** A user of the service, with what is shown only on request. */
export const serviceUser = {
  userId: "u1",
  createdAt: "then",
  lastUsedAt: null,
  auth_data: { token: "S3CRET" },
};

export interface ReplicaOptions {
  readonly name: string;
  readonly settings?: AccessSettings;
  /** By key: the address of its owner, `self`, or null. */
  readonly owners: Readonly<Record<string, string | null>>;
  readonly token?: string;
  readonly ca?: string;
  /** In PEM, with its key. */
  readonly ownCertificate?: string;
  readonly isLive?: (address: string) => boolean;
  readonly web?: Partial<WebDeps>;
}

/** A replica that serves over HTTP: its look-ups reach a service of its own, and its polls are counted. */
export async function serveReplica(options: ReplicaOptions) {
  const { name, owners, settings = openAccess, token = replicaToken } = options;
  const service = await startPeer((_, response) =>
    answerJson(response, { ...serviceUser, createdAt: name }),
  );
  const clock = createFakeClock();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const polled: string[] = [];
  const ownCertificate = options.ownCertificate ? new Secret(options.ownCertificate) : undefined;
  const keys = Object.keys(owners).map((key) => ({ name: key, apiKey: new Secret(testKey) }));
  const context: KeysContext & ServiceContext & Pick<StoreContext, "pollNow"> = {
    service: createTestClient(service.baseUrl, { clock }).client,
    recordDrift() {},
    limits: createKeyLimits(clock, { requests: 100, perMs: 1_000 }),
    targets: keys.map(({ name: key }) => watchFleet({ region: "us", key }).watched),
    keys,
    clock,
    maxBodyBytes: 1_000_000,
    signal: stop.signal,
    inProgress: { lookups: 0, checks: 0 },
    rules: [],
    receivers: [],
    probes: [],
    pollNow: async ({ key }) => void polled.push(key),
  };
  const api = createApi(context);
  const callFor = createForwarding({
    api,
    context,
    ownerOf: (key) => {
      const owner = owners[key] ?? null;
      return owner === null || owner === "self" ? owner : { address: owner };
    },
    clientFor: createReplicaClients(new Secret(token), {
      ca: options.ca ?? null,
      signal: stop.signal,
      clientCertificate: () => ownCertificate,
    }),
    isLive: options.isLive ?? (() => true),
    leaseMs: 15_000,
    clock,
  });
  const web = await serveWeb({
    access: createAccessControl(settings, clock, new Secret(replicaToken)),
    api: { call: api, callFor, events: async () => ({ events: [], after: "", hasMore: false }) },
    ...options.web,
  });
  const post = async (
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const answer = await web.get(`/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return { ...answer, body: JSON.parse(answer.text) };
  };
  return { ...web, service, polled, post, clock };
}
