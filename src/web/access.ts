import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { allows, type AccessSettings, type Permission, type Role } from "../lib/access.ts";
import type { Clock } from "../lib/clock.ts";
import { callerFromHeader, callerHeader, replicaScheme } from "../lib/forwarded-caller.ts";
import { hostNetwork, isInNetworks } from "../lib/networks.ts";
import { isPassword } from "../lib/password.ts";
import type { Secret } from "../lib/secret.ts";

/** Who sent a request. */
export interface Identity {
  /** As configured, or as the proxy states it; null: the request has no credentials. */
  readonly name: string | null;
  readonly role: Role;
  /** Set where another replica forwarded the request: the address from which it was sent there. */
  readonly forwardedFrom?: string;
}

export type AccessDecision =
  | { readonly kind: "permitted"; readonly identity: Identity }
  | {
      readonly kind: "denied";
      readonly status: 401 | 403 | 429;
      readonly detail: string;
      /** Of a 429. */
      readonly retryAfterMs?: number;
    };

export interface AccessRequest {
  /** All values of each header, as a proxy in front may look at another one than we do. */
  readonly headers: NodeJS.Dict<readonly string[]>;
  /** The address of the connection. */
  readonly address: string;
  /** Whether other replicas may forward such requests. Default: no. */
  readonly isForwardable?: boolean;
}

export interface AccessControl {
  /** Whether a request may do what needs the permission. */
  decide(request: AccessRequest, permission: Permission): Promise<AccessDecision>;
}

const mostFailures = 10;
const failuresWithinMs = 60_000;
/** Networks whose failures are kept. When there are more, the oldest is forgotten. */
const mostNetworks = 10_000;

type Identified = Identity | "wrong" | "limited";

/** A token has no user, or its name as user. */
interface Credentials {
  readonly user: string | null;
  readonly secret: string;
}

/** @param replicaToken by which replicas authenticate to each other; null: there are no others */
export function createAccessControl(
  settings: AccessSettings,
  clock: Clock,
  replicaToken: Secret | null = null,
): AccessControl {
  const { anonymous, tokens, users, proxy } = settings;
  const hasCredentials = tokens.length + users.length > 0;
  const failures = createFailures(clock);
  const remembered = createRemembered(users.length);

  const identifyByToken = (token: string): Identity | null => {
    // Every token is compared, so that the time shows nothing about them.
    const found = tokens.filter((each) => isSame(each.token.reveal(), token));
    return found[0] ?? null;
  };

  let verifying: Promise<unknown> = Promise.resolve();

  /** One password at a time: scrypt takes much memory, and a failure counts before the next one is verified. */
  const identifyByPassword = async (
    { address }: AccessRequest,
    user: string,
    password: string,
  ): Promise<Identified> => {
    const found = users.find(({ name }) => name === user);
    // A user who has logged in does not wait for the attempts of others.
    if (found && remembered.has(user, password)) return found;
    const verified = verifying.then(async (): Promise<Identified> => {
      if (found && remembered.has(user, password)) return found;
      if (failures.waitMs(address) > 0) return "limited";
      // Another user's where there is none, so that the time of a response does not show which users exist.
      const expected = (found ?? users[0])?.passwordHash;
      const isRight = expected !== undefined && (await isPassword(password, expected));
      if (!found || !isRight) return failures.add(address);
      remembered.add(user, password);
      return found;
    });
    verifying = verified.catch(() => {});
    return verified;
  };

  const identifyByProxy = ({ headers, address }: AccessRequest): Identity | null => {
    if (!proxy || !isInNetworks(address, proxy.trusted)) return null;
    const [name, ...others] = headers[proxy.header] ?? [];
    if (name === undefined || name === "" || others.length > 0) return null;
    return { name, role: users.find((user) => user.name === name)?.role ?? proxy.role };
  };

  /** For the caller that a replica names. Null: the token is wrong, or the caller cannot be read. */
  const identifyByReplica = ({ headers, isForwardable }: AccessRequest, token: string) => {
    const isReplica = replicaToken !== null && isSame(replicaToken.reveal(), token);
    const [header, ...others] = headers[callerHeader] ?? [];
    if (!isReplica || !isForwardable || header === undefined || others.length > 0) return null;
    const caller = callerFromHeader(header);
    return caller && { name: caller.name, role: caller.role, forwardedFrom: caller.address };
  };

  const identifyByCredentials = async (request: AccessRequest): Promise<Identified> => {
    if (failures.waitMs(request.address) > 0) return "limited";
    const [authorization, ...others] = request.headers["authorization"] ?? [];
    if (others.length > 0) return failures.add(request.address);
    const token = readReplicaToken(authorization);
    if (token !== null) return identifyByReplica(request, token) ?? failures.add(request.address);
    const credentials = readCredentials(authorization);
    if (!credentials) return failures.add(request.address);
    const { user, secret } = credentials;
    // Some clients can send a token as a password only.
    const isUser = user !== null && !tokens.some(({ name }) => name === user);
    if (isUser) return identifyByPassword(request, user, secret);
    return identifyByToken(secret) ?? failures.add(request.address);
  };

  return {
    async decide(request, permission) {
      const byProxy = identifyByProxy(request);
      const authorization = request.headers["authorization"];
      const isAnonymous = authorization === undefined && !byProxy;
      // Where everybody may do everything, too, a replica acts for somebody who is named in the log.
      const isReplica = authorization?.some((each) => readReplicaToken(each) !== null) ?? false;
      if (isAnonymous || !(hasCredentials || proxy || isReplica)) {
        if (anonymous !== null && allows(anonymous, permission)) {
          return { kind: "permitted", identity: { name: null, role: anonymous } };
        }
        return { kind: "denied", status: 401, detail: "Send a token, or a user and password." };
      }
      const identity = (!isReplica && byProxy) || (await identifyByCredentials(request));
      if (identity === "limited") {
        const detail = `There were ${mostFailures} requests with wrong credentials from this address within a minute.`;
        const retryAfterMs = failures.waitMs(request.address);
        return { kind: "denied", status: 429, detail, retryAfterMs };
      }
      if (identity === "wrong") {
        const detail = "The token, or the user and password, are wrong.";
        return { kind: "denied", status: 401, detail };
      }
      if (allows(identity.role, permission)) {
        const { name, role, forwardedFrom } = identity;
        const forwarded = forwardedFrom !== undefined && { forwardedFrom };
        return { kind: "permitted", identity: { name, role, ...forwarded } };
      }
      const detail = `The role ${identity.role} does not allow this.`;
      return { kind: "denied", status: 403, detail };
    },
  };
}

/** Null: it is of another scheme. */
function readReplicaToken(authorization = ""): string | null {
  const [, token = null] = replicaPattern.exec(authorization) ?? [];
  return token;
}

const replicaPattern = new RegExp(`^${replicaScheme} +(\\S*) *$`, "i");

/** Null: they are of another scheme, or cannot be read. */
function readCredentials(authorization = ""): Credentials | null {
  const [, scheme = "", value = ""] = /^(\w+) +(\S+) *$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === "bearer") return { user: null, secret: value };
  if (scheme.toLowerCase() !== "basic") return null;
  const text = Buffer.from(value, "base64").toString("utf8");
  const [, user, secret] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  return user === undefined || secret === undefined ? null : { user, secret };
}

/** In a time that depends on neither text. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Requests with wrong credentials by the network of one sender, within the last minute. */
function createFailures(clock: Clock) {
  const byNetwork = new Map<string, readonly number[]>();
  const recent = (address: string): readonly number[] => {
    const sinceMs = clock.now().monotonicMs - failuresWithinMs;
    return (byNetwork.get(hostNetwork(address)) ?? []).filter((atMs) => atMs > sinceMs);
  };
  return {
    add(address: string): "wrong" {
      const times = [...recent(address), clock.now().monotonicMs];
      const network = hostNetwork(address);
      byNetwork.delete(network);
      byNetwork.set(network, times);
      const [oldest] = byNetwork.keys();
      if (byNetwork.size > mostNetworks && oldest !== undefined) byNetwork.delete(oldest);
      return "wrong";
    },
    /** How long until credentials of the address are looked at again; 0: they are now. */
    waitMs(address: string): number {
      const times = recent(address);
      const last = times[times.length - mostFailures];
      return last === undefined ? 0 : last + failuresWithinMs - clock.now().monotonicMs;
    },
  };
}

/**
 * Passwords that were right, as digests under a key of this process: a browser sends its password with every
 * request, and scrypt takes 0.2 s.
 */
function createRemembered(mostUsers: number) {
  const key = randomBytes(32);
  const digests = new Map<string, Buffer>();
  const digestOf = (user: string, password: string): Buffer =>
    createHmac("sha256", key).update(`${user}\0${password}`).digest();
  return {
    has(user: string, password: string): boolean {
      const known = digests.get(user);
      return known !== undefined && timingSafeEqual(known, digestOf(user, password));
    },
    add(user: string, password: string): void {
      if (digests.size < mostUsers || digests.has(user))
        digests.set(user, digestOf(user, password));
    },
  };
}
