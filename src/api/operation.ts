import { z } from "zod";

/**
 * What the API passes requests on to, as they came. It checks them itself, with the very schemas that
 * the operations name, throws a `RefusedError` for what cannot be done, and answers what may be sent
 * as JSON.
 */
export interface ApiDesk {
  targets(query: unknown): Promise<object>;
  servers(query: unknown): Promise<object>;
  changes(query: unknown): Promise<object>;
  occupancy(query: unknown): Promise<object>;
  insights(query: unknown): Promise<object>;
  drift(query: unknown): Promise<object>;
  conformance(request: unknown): Promise<object>;
  explain(query: unknown): Promise<object>;
  incidents(query: unknown): Promise<object>;
  acknowledge(incident: string, request: unknown): Promise<object>;
  silences(query: unknown): Promise<object>;
  addSilence(request: unknown): Promise<object>;
  expireSilence(id: string): Promise<object>;
  notifications(query: unknown): Promise<object>;
  notification(seq: string): Promise<object>;
  replay(request: unknown): Promise<object>;
  discard(request: unknown): Promise<object>;
  probes(query: unknown): Promise<object>;
}

/** The same for what is asked of the service itself. */
export interface ApiLookups {
  lookUp(operation: string, query: unknown): Promise<object>;
  permit(request: unknown): Promise<object>;
  heed(request: unknown): Promise<object>;
}

export interface ApiDesks {
  readonly desk: ApiDesk;
  readonly lookups: ApiLookups;
}

export interface ApiRequest {
  /** The text in the path; empty where the path has no place for one. */
  readonly id: string;
  readonly query: unknown;
  readonly body: unknown;
}

/** Why an operation may be refused, beside what any may be refused for. */
export type ApiRefusal = 404 | 409 | 429;

/** All that there is to know of an operation: what is served, checked and documented follows from it. */
export interface ApiOperation {
  readonly method: "GET" | "POST";
  /** Below `/api/v1`, with `{id}` for what stands in between. */
  readonly path: string;
  /** A name for clients that are made from the document. */
  readonly name: string;
  readonly summary: string;
  /** What `{id}` may be. */
  readonly id?: z.ZodType;
  /** Left out: it takes none. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
  readonly status: 200 | 201;
  readonly refusals: readonly ApiRefusal[];
  /** Whether it costs something elsewhere: no page of another site may ask for it, and nobody keep it. */
  readonly isCostly?: boolean;
  readonly run: (desks: ApiDesks, request: ApiRequest) => Promise<object>;
}

export const nothing = z.strictObject({});
