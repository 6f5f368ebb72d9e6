import { readRequest } from "../interventions/requests.ts";
import { nothing } from "./operation.ts";
import type { ApiDesks, ApiOperation, ApiRequest } from "./operation.ts";
import { apiOperations } from "./operations.ts";
import { describeApi } from "./openapi.ts";

/** What the HTTP server needs to know of an operation. */
export interface ServedOperation extends Pick<ApiOperation, "method" | "path" | "status"> {
  readonly isCostly: boolean;
  run(request: ApiRequest): Promise<object>;
}

export interface ServedApi {
  readonly operations: readonly ServedOperation[];
  /** The OpenAPI document, made when it is first asked for. */
  document(): object;
}

/** The API in front of its desks. What an operation does not take at all is refused here. */
export function serveOperations(desks: ApiDesks): ServedApi {
  let document: object | undefined;
  return {
    operations: apiOperations.map(
      ({ method, path, status, isCostly = false, query, body, run }) => ({
        method,
        path,
        status,
        isCostly,
        async run(request) {
          if (!query) readRequest(nothing, request.query);
          if (body === nothing) readRequest(nothing, request.body ?? {});
          return run(desks, request);
        },
      }),
    ),
    document: () => (document ??= describeApi()),
  };
}
