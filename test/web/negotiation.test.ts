import { describe, expect, it } from "vitest";
import { chooseEncoding } from "../../src/web/content-encoding.ts";
import { chooseFormat, contentTypeOf } from "../../src/web/exposition-format.ts";

const text = "text/plain; version=0.0.4; charset=utf-8";
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const oldOpenMetrics = "application/openmetrics-text; version=0.0.1; charset=utf-8";

/** What Prometheus asks for, as its versions have it. */
const prometheus = {
  "2.5": "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
  "2.45":
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
  "3": "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
  "3 with protobuf first":
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
  "3 with text alone": "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
};

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

describe("the format", () => {
  it.each([
    [undefined, text],
    ["", text],
    ["*/*", text],
    [browser, text],
    [prometheus["2.5"], oldOpenMetrics],
    [prometheus["2.45"], openMetrics],
    [prometheus["3"], openMetrics],
    [prometheus["3 with protobuf first"], openMetrics],
    [prometheus["3 with text alone"], text],
    ["application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily", text],
    ["application/json", text],
    ["application/openmetrics-text", openMetrics],
    ["application/openmetrics-text;version=2.0.0", text],
    ["application/openmetrics-text;version=2.0.0,text/plain;version=1.0.0", text],
    ["application/*", openMetrics],
    ["text/*, application/openmetrics-text;q=0.9", text],
    ["text/plain, application/openmetrics-text", text],
    ["application/openmetrics-text, text/plain", openMetrics],
    ["text/plain;q=0.3, application/openmetrics-text;q=0.30", text],
    ["text/plain;q=0.2, application/openmetrics-text;q=0.3", openMetrics],
    ["Application/OpenMetrics-Text ; Version = 1.0.0 ; Q=0.9 , text/plain;q=0.8", openMetrics],
    ['application/openmetrics-text; version="0.0.1"', oldOpenMetrics],
    ["application/openmetrics-text;q=0, text/plain;q=0.1", text],
    [
      "application/openmetrics-text;version=1.0.0;q=0, application/openmetrics-text",
      oldOpenMetrics,
    ],
    ["text/plain;q=0, */*", openMetrics],
    ["application/openmetrics-text;q=0", text],
    ["*/*;q=0.9, text/plain;q=0.1, application/openmetrics-text;q=0.5", openMetrics],
    ["*/*;q=0", text],
    [",,;q=1,=", text],
    ["application/openmetrics-text;q=high, text/plain;q=0.9", openMetrics],
  ])("for %j is %s", (accept, contentType) => {
    expect(contentTypeOf(chooseFormat(accept))).toBe(contentType);
  });
});

describe("the encoding", () => {
  it.each([
    [undefined, "identity"],
    ["", "identity"],
    ["gzip", "gzip"],
    ["GZIP;Q=0.5", "gzip"],
    ["gzip;q=0", "identity"],
    ["gzip;q=0.000, zstd;q=0.1", "zstd"],
    ["zstd", "zstd"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip, zstd;q=0.9", "gzip"],
    ["zstd;q=0, gzip;q=0.1", "gzip"],
    ["deflate, br", "identity"],
    ["identity, gzip;q=0.5", "identity"],
    ["identity;q=0.5, gzip", "gzip"],
    ["identity;q=0.5, zstd;q=0.4", "identity"],
    ["*", "gzip"],
    ["*;q=0", "identity"],
    ["gzip;q=0, *", "identity"],
  ])("for %j is %s", (acceptEncoding, encoding) => {
    expect(chooseEncoding(acceptEncoding)).toBe(encoding);
  });
});
