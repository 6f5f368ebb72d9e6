import { describe, expect, it } from "vitest";
import { acknowledgeIncident } from "../../src/api/operations/incidents.ts";
import { replayNotifications } from "../../src/api/operations/notifications.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { readRequest } from "../../src/api/operation.ts";

describe("a request that cannot be used", () => {
  it.each([
    [addSilence.request, {}, "match: an object with fields"],
    [addSilence.request, [], "Allowed: an object with fields"],
    [acknowledgeIncident.request, null, "Allowed: an object with fields"],
    [replayNotifications.request, { seqs: [] }, "seqs: at least 1 of them"],
    [replayNotifications.request, { seqs: [-1] }, "seqs: a number of at least 0"],
    [replayNotifications.request, { receiver: "" }, "receiver: a text that is not empty"],
  ])("is answered with what is allowed, in words of ours: %#", (schema, request, allowed) => {
    expect(() => readRequest(schema, request)).toThrow(allowed);
  });
});
