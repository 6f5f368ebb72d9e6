import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createExpositionReader } from "../../bench/support/exposition-reader.ts";

const exposition = `# HELP sandbox_servers How many.
# TYPE sandbox_servers gauge
sandbox_servers{region="us",key="a",server_name="git",status="idle"} 3
sandbox_servers{region="us",key="b",server_name="git",status="idle"} 4
sandbox_servers{region="eu",key="a",server_name="git",status="error"} 1
sandwatch_polls_total{region="us",key="a"} 12
sandwatch_target_up{region="us",key="a"} 1
sandwatch_target_up{region="eu",key="a"} 0

# TYPE sandbox_server_status gauge
sandbox_server_status{region="us",server="1",status="idle"} 1
sandbox_server_status{region="us",server="1",status="error"} 0
sandbox_server_status{region="us",server="2",status="idle"} 1
# TYPE sandbox_server_info gauge
sandbox_server_info{region="us",server="1"} 1
sandbox_server_info{region="us",server="2"} 1
`;

it("reads the same out of an exposition wherever it is cut", () => {
  const bytes = Buffer.from(exposition);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (sizes) => {
      const reader = createExpositionReader({ countSeries: true });
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const end = at + (sizes[turn % sizes.length] ?? 1);
        const chunk = Buffer.from(bytes.subarray(at, end));
        reader.push(chunk);
        chunk.fill(0);
        at = end;
      }
      expect(reader.end()).toEqual({
        bytes: bytes.length,
        series: 11,
        serverInfos: 2,
        servers: { us: { idle: 7 }, eu: { error: 1 } },
        polls: { us: 12 },
        targetsUp: 1,
      });
    }),
  );
});
