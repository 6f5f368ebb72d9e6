import { expect, it } from "vitest";
import { chooseEncoding, chooseFormat } from "../../src/web/scrape-route.ts";

const text = "text/plain; version=0.0.4; charset=utf-8";
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const oldOpenMetrics = "application/openmetrics-text; version=0.0.1; charset=utf-8";

/** What versions of Prometheus send. */
const prometheus = {
  "2.5": "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
  "2.45":
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
  "3 with protobuf":
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
  "3 with text": "text/plain;version=0.0.4;escaping=underscores;q=0.5,*/*;q=0.1",
};

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

it.each([
  [undefined, text],
  ["", text],
  [browser, text],
  [prometheus["2.5"], oldOpenMetrics],
  [prometheus["2.45"], openMetrics],
  [prometheus["3 with protobuf"], openMetrics],
  [prometheus["3 with text"], text],
  ["application/json", text],
  [",,;q=1,=", text],
])("the format for %j is %s", (accept, contentType) => {
  expect(chooseFormat({ accept }).contentType).toBe(contentType);
});

it.each([
  [undefined, undefined],
  ["gzip", "gzip"],
  ["gzip;q=0", undefined],
  ["zstd, gzip", "zstd"],
  ["deflate, br", undefined],
  ["*", "gzip"],
])("the encoding for %j is %s", (acceptEncoding, encoding) => {
  const { headers } = chooseEncoding({ "accept-encoding": acceptEncoding });
  expect(headers["content-encoding"]).toBe(encoding);
});
