import { baseUrlLike, parseBaseUrl } from "./address.ts";
import { allowHttp, duration, optional, refuseUnencrypted, settings, textOf } from "./fields.ts";
import { certificates } from "./schema-outbound.ts";

export const clusterSchema = settings({
  address: textOf(
    "an https or http address without user, password, query and fragment, such as https://sandwatch-0.example.com:9740",
    baseUrlLike,
    parseBaseUrl,
  ).describe(
    "The address at which the other processes reach the HTTP server of this one. Each process has its own.",
  ),
  allowHttp: allowHttp("address"),
  leaseMs: duration("5s", "5m")
    .prefault("15s")
    .describe(
      "How long an active process that does not answer stays active. It renews its lease three times as often. All processes should have the same.",
    ),
  ca: optional(
    certificates(),
    "the authorities that Node.js trusts",
    "Certificates of the authorities, in PEM, that the certificates of the other processes must be from.",
  ),
}).superRefine(({ address, allowHttp: isAllowed }, context) =>
  refuseUnencrypted(context, address, isAllowed, "address"),
);
