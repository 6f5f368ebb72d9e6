import { CommandError } from "./exit-codes.ts";

/** A failure to listen as a line for a person; any other error as it is. */
export function asListenFault(error: unknown, setting: string): unknown {
  const isSystemError = error instanceof Error && "syscall" in error;
  if (!isSystemError || !["listen", "getaddrinfo"].includes(String(error.syscall))) return error;
  return new CommandError(`${error.message}. Give another address with ${setting}.`);
}
