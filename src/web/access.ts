import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { allows, type AccessSettings, type Permission, type Role } from "../lib/access.ts";
import type { Clock } from "../lib/clock.ts";
import { isInNetworks } from "../lib/networks.ts";
import { createFailures, noName, retryGuessMs } from "./failed-guesses.ts";
import { createPasswordChecks } from "./password-checks.ts";

/** Who sent a request. */
export interface Identity {
  /** As configured, or as the proxy states it; null: the request has no credentials. */
  readonly name: string | null;
  readonly role: Role;
}

export type AccessDecision =
  | { readonly kind: "permitted"; readonly identity: Identity }
  | {
      readonly kind: "denied";
      readonly status: 401 | 403 | 429;
      readonly reason: "no_credentials" | "wrong_credentials" | "too_many_guesses" | "role";
      readonly detail: string;
      /** Of a 429. */
      readonly retryAfterMs?: number;
    };

export interface AccessRequest {
  /** All values of each header, as a proxy in front may look at another one than we do. */
  readonly headers: NodeJS.Dict<readonly string[]>;
  /** The address of the connection. */
  readonly address: string;
  /** The address of who sent it, which is another one behind a trusted proxy. */
  readonly sender: string;
  /** Whether nobody waits for the decision any more. Default: somebody does. */
  readonly hasLeft?: () => boolean;
}

export interface AccessControl {
  /** Whether a request may do what needs the permission. */
  decide(request: AccessRequest, permission: Permission): Promise<AccessDecision>;
}

type Identified = Identity | "wrong" | "limited";

/** A token has no user, or its name as user. */
interface Credentials {
  readonly user: string | null;
  readonly secret: string;
}

export function createAccessControl(settings: AccessSettings, clock: Clock): AccessControl {
  const { anonymous, tokens, users, proxy } = settings;
  const hasCredentials = tokens.length + users.length > 0;
  const failures = createFailures(clock);
  const passwords = createPasswordChecks(users, failures);

  const identifyByToken = (token: string): Identity | null => {
    // Every token is compared, so that the time shows nothing about them.
    const found = tokens.filter((each) => isSame(each.token.reveal(), token));
    return found[0] ?? null;
  };

  const identifyByProxy = ({ headers, address }: AccessRequest): Identity | null => {
    if (!proxy || !isInNetworks(address, proxy.trusted)) return null;
    const [header, ...others] = headers[proxy.header] ?? [];
    if (header === undefined || header === "" || others.length > 0) return null;
    const name = decodeHeader(header);
    return { name, role: users.find((user) => user.name === name)?.role ?? proxy.role };
  };

  const identifyByCredentials = async (request: AccessRequest): Promise<Identified> => {
    const { headers, sender, hasLeft } = request;
    const [authorization, ...others] = headers["authorization"] ?? [];
    const credentials = others.length > 0 ? null : readCredentials(authorization);
    const { user = null, secret = "" } = credentials ?? {};
    // Some clients can send a token as a password only.
    const isUser = user !== null && !tokens.some(({ name }) => name === user);
    if (isUser) return passwords.check({ user, password: secret, sender, hasLeft });
    const found = credentials && identifyByToken(secret);
    if (found) return found;
    // Right ones pass whatever others sent from the same address. There is nothing to guess that is so long.
    const guess = { name: noName, sender };
    const isLimited = failures.waitMs(guess) > 0;
    failures.add(guess);
    return isLimited ? "limited" : "wrong";
  };

  return {
    async decide(request, permission) {
      // Whatever credentials it has: a load balancer is not refused because somebody guesses from its address.
      if (permission === "health" && anonymous !== null && allows(anonymous, permission)) {
        return { kind: "permitted", identity: { name: null, role: anonymous } };
      }
      const byProxy = identifyByProxy(request);
      const authorization = request.headers["authorization"];
      const isAnonymous = authorization === undefined && !byProxy;
      if (isAnonymous || !(hasCredentials || proxy)) {
        if (anonymous !== null && allows(anonymous, permission)) {
          return { kind: "permitted", identity: { name: null, role: anonymous } };
        }
        const detail = "Send a token, or a user and password.";
        return { kind: "denied", status: 401, reason: "no_credentials", detail };
      }
      const identity = byProxy ?? (await identifyByCredentials(request));
      if (identity === "limited") {
        const detail =
          "There were too many requests with wrong credentials from this address within a minute.";
        const retryAfterMs = retryGuessMs;
        return { kind: "denied", status: 429, reason: "too_many_guesses", detail, retryAfterMs };
      }
      if (identity === "wrong") {
        const detail = "The token, or the user and password, are wrong.";
        return { kind: "denied", status: 401, reason: "wrong_credentials", detail };
      }
      if (allows(identity.role, permission)) {
        const { name, role } = identity;
        return { kind: "permitted", identity: { name, role } };
      }
      const detail = `The role ${identity.role} does not allow this.`;
      return { kind: "denied", status: 403, reason: "role", detail };
    },
  };
}

/** Null: they are of another scheme, or cannot be read. */
function readCredentials(authorization = ""): Credentials | null {
  const [, scheme = "", value = ""] = /^(\w+) +(\S+) *$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === "bearer") return { user: null, secret: value };
  if (scheme.toLowerCase() !== "basic") return null;
  const text = Buffer.from(value, "base64").toString("utf8");
  const [, user, secret] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  return user === undefined || secret === undefined ? null : { user, secret };
}

/** Most proxies send UTF-8. Node.js reads each byte as a character of Latin-1, which others send. */
function decodeHeader(text: string): string {
  const bytes = Buffer.from(text, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : text;
}

/** In a time that depends on neither text. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
