export { CallError, createClient, orThrow } from "./client.ts";
export type { CallOptions, CallResult, CallSuccess, Client, ClientOptions } from "./client.ts";
export type { Deviation, DeviationProblem, OperationProblem } from "../fleet/deviation.ts";
export type { FailureReason } from "../fleet/model.ts";
export type { CallFailure, ValidationEntry } from "../service/failure.ts";
export type { JsonObject, JsonValue } from "../service/json-value.ts";
export type { Sandbox, SandboxServer, WholeListing } from "../service/responses.ts";
export type { Universe, User, WhiteLabel } from "../service/responses.ts";
