import { z } from "zod";
import { parseNetwork, whyAlwaysDenied } from "../lib/networks.ts";
import type { OutboundNetworks } from "../lib/networks.ts";
import { scalar, settings } from "./fields.ts";
import { textLike } from "./written.ts";

const networkLike = textLike(
  /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\dA-Fa-f:.]*:[\dA-Fa-f:.]*)(?:\/\d{1,3})?$/,
);

const networkAllowed = "a network such as 10.0.0.0/8 or fd00::/8, or one address";

const networkSchema = scalar(networkAllowed, (value) =>
  typeof value === "string" ? parseNetwork(value) : undefined,
).meta(networkLike);

const reachableAllowed = `${networkAllowed}, that is not always denied (link-local, multicast, metadata services)`;

const reachableSchema = scalar(reachableAllowed, (value) => {
  const network = typeof value === "string" ? parseNetwork(value) : undefined;
  return network && whyAlwaysDenied(network) === undefined ? network : undefined;
}).meta(networkLike);

export const outboundSchema = settings({
  deny_networks: z
    .array(networkSchema, "a list of networks")
    .prefault([])
    .describe("Further networks that are denied."),
  allow_networks: z
    .array(reachableSchema, "a list of networks")
    .min(1, "at least one network; omit the setting for all")
    .optional()
    .meta({ description: "If set, only these networks are allowed.", leftOut: "all" }),
}).transform((outbound): OutboundNetworks => ({
  deny: outbound.deny_networks,
  allow: outbound.allow_networks ?? null,
}));
