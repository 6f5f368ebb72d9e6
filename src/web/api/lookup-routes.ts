import type { FastifyInstance } from "fastify";
import { sendProblem } from "./problem.ts";

/** What the API passes look-ups on to, as they came; as its desk does, it checks them itself. */
export interface ApiLookups {
  lookUp(operation: string, query: unknown): Promise<object>;
  permit(request: unknown): Promise<object>;
}

interface WithOperation {
  readonly Params: { readonly operation: string };
}

/**
 * A look-up changes nothing here, but it uses up the limit of a key: a page of somebody else's could
 * do that without being let read what comes, and a browser says where a request comes from.
 */
export function addLookupRoutes(api: FastifyInstance, lookups: ApiLookups): void {
  api.get<WithOperation>("/lookups/:operation", async ({ params, query, headers }, reply) => {
    const site = headers["sec-fetch-site"] ?? "none";
    if (site !== "same-origin" && site !== "none") {
      const detail = "Pages of other addresses may not look anything up here.";
      return sendProblem(reply, { status: 403, detail });
    }
    const view = await lookups.lookUp(params.operation, query);
    return reply.header("cache-control", "no-store").send(view);
  });
  api.post("/lookups/permits", ({ body }) => lookups.permit(body));
}
