/** Any value of JSON. It stands apart from the reader of bytes, whose types a program that uses the client need not have. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: JsonValue;
}
