import type { Network } from "./networks.ts";
import type { PasswordHash } from "./password.ts";
import type { Secret } from "./secret.ts";

/** The permission that a route or an operation requires. */
export type Permission = "health" | "metrics" | "read" | "act" | "call" | "reload" | "delete";

export const roles = ["health", "metrics", "viewer", "operator", "caller", "admin"] as const;
export type Role = (typeof roles)[number];

const toRead = ["health", "metrics", "read"] as const;

/**
 * What each role allows. `act` changes what is notified; `call` spends the rate limit of API keys and shows the
 * service's data; `delete` deletes history.
 */
const permissionsOf: Readonly<Record<Role, readonly Permission[]>> = {
  health: ["health"],
  metrics: ["health", "metrics"],
  viewer: toRead,
  operator: [...toRead, "act"],
  caller: [...toRead, "call"],
  admin: [...toRead, "act", "call", "reload", "delete"],
};

export function allows(role: Role, permission: Permission): boolean {
  return permissionsOf[role].includes(permission);
}

/** Who may do what over HTTP. */
export interface AccessSettings {
  /** The role of requests without credentials; null: none. */
  readonly anonymous: Role | null;
  readonly tokens: readonly {
    readonly name: string;
    readonly role: Role;
    readonly token: Secret;
  }[];
  readonly users: readonly {
    readonly name: string;
    readonly role: Role;
    readonly passwordHash: PasswordHash;
  }[];
  /** A proxy that authenticates users and names them in a header. */
  readonly proxy: {
    /** In lower case. */
    readonly header: string;
    readonly trusted: readonly Network[];
    /** The role of users that are not in `users`. */
    readonly role: Role;
  } | null;
}

/** Everyone who reaches the server may do everything. */
export const openAccess: AccessSettings = {
  anonymous: "admin",
  tokens: [],
  users: [],
  proxy: null,
};
