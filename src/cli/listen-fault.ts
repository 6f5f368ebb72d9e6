import { CommandError, exitCodes } from "./exit-codes.ts";

/** A failure to listen as a line for a person; any other error as it is. */
export function asListenFault(
  error: unknown,
  at: { readonly host: string; readonly port: number },
  setting: string,
): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = reasons.get(code);
  if (reason === undefined) return error;
  const host = at.host.includes(":") ? `[${at.host}]` : at.host;
  return new CommandError(
    `${host}:${at.port} ${reason}. Give another address with ${setting}.`,
    exitCodes.failed,
  );
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "is in use by another program"],
  ["EACCES", "may not be used by this user"],
  ["EADDRNOTAVAIL", "is not an address of this machine"],
  ["EAFNOSUPPORT", "is of an address family that this machine does not have"],
  ["ENOTFOUND", "is not a known host"],
]);
