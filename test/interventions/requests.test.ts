import { describe, expect, it } from "vitest";
import {
  acknowledgeRequest,
  notificationSelection,
  readRequest,
  silenceRequest,
} from "../../src/interventions/requests.ts";

describe("a request that cannot be used", () => {
  it.each([
    [silenceRequest, {}, "match: an object with fields"],
    [silenceRequest, [], "Allowed: an object with fields"],
    [acknowledgeRequest, null, "Allowed: an object with fields"],
    [notificationSelection, { seqs: [] }, "seqs: at least 1 of them"],
    [notificationSelection, { seqs: [-1] }, "seqs: a number of at least 0"],
    [notificationSelection, { receiver: "" }, "receiver: a text that is not empty"],
  ])("is answered with what is allowed, in words of ours: %#", (schema, request, allowed) => {
    expect(() => readRequest(schema, request)).toThrow(allowed);
  });
});
