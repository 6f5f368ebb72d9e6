import { apiOperations } from "../../../src/api/operations.ts";
import type { ApiDeps } from "../../../src/web/api/api.ts";

/** Every operation, none of which does anything. */
export const noApi: ApiDeps = {
  operations: apiOperations,
  call: () => Promise.resolve({}),
  events: () => Promise.resolve({ events: [], after: "", hasMore: false }),
  document: () => ({}),
  allowedHosts: [],
};
