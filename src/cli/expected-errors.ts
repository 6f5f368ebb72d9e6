import { ApiUnavailableError } from "../api/client.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { StoreError } from "../store/store-error.ts";
import { CommandError } from "./exit-codes.ts";

const expected = [CommandError, RefusedError, ApiUnavailableError, StoreError];

/** Errors with a message for the user; any other is a bug. */
export function isExpected(error: unknown): error is Error {
  return expected.some((kind) => error instanceof kind);
}
