export { CallError, orThrow } from "./call-error.ts";
export { createClient } from "./create-client.ts";
export type { CallOptions, CallResult, CallSuccess, Client, ClientOptions } from "./client.ts";
export type { FailureReason } from "../core/model.ts";
export type { Deviation, DeviationProblem } from "../service/deviations.ts";
export type { CallFailure, ValidationEntry } from "../service/failure.ts";
export type { JsonObject, JsonValue } from "../service/json.ts";
export type { Universe, User, WhiteLabel } from "../service/parse-lookups.ts";
export type { Sandbox, SandboxServer, WholeListing } from "../service/parse-whole-listing.ts";
