import { z } from "zod";
import { roles, type Role } from "./access.ts";

/** Who sent a request. */
export interface Caller {
  /** As configured, or as a proxy states it; null: the request has no credentials. */
  readonly name: string | null;
  readonly role: Role;
  /** The address of the connection by which it reached the first replica. */
  readonly address: string;
}

/** The scheme of the `Authorization` of a replica. Its credentials are the token of the store. */
export const replicaScheme = "Replica";
/** The header in which a replica says whose request it forwards. */
export const callerHeader = "sandwatch-caller";

/** As a header can have it: names are in any script. */
export function callerToHeader({ name, role, address }: Caller): string {
  return Buffer.from(JSON.stringify({ name, role, address })).toString("base64url");
}

const callerSchema = z.object({
  name: z.string().nullable(),
  role: z.enum(roles),
  address: z.string(),
});

/** @returns null when it is not readable */
export function callerFromHeader(text: string): Caller | null {
  try {
    const json: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return callerSchema.safeParse(json).data ?? null;
  } catch {
    return null;
  }
}
