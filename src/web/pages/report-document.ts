import { localText } from "../../reports/zone.ts";
import { html, type Html } from "../html.ts";

/** One file, which needs nothing else: no script, no font, no image. */
export function reportDocument(title: string, body: Html): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="content-security-policy" content="${policy}" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <style>
          ${{ markup: style }}
        </style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `;
  return document.markup.replaceAll(/\n\s*\n/g, "\n");
}

/** A time of a zone, to the minute. */
export function minuteText(time: string, tz: string): string {
  return localText(time, tz)
    .replace("T", " ")
    .replace(/( \d\d:\d\d):[\d.]+/, "$1");
}

const style = `
:root { color-scheme: light dark; --ink: #1d2430; --quiet: #5a6472; --page: #fff; --line: #d9dee5;
  --accent: #1a62c6; --peak: #8fb5ea; --free: #e6ebf2; --unobserved: #9aa3af; --note: #fff4d6; --note-line: #c98a00;
  --idle: #93bfae; --error: #c8381c; --unknown: #9a5b9c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --quiet: #a0a9b6; --page: #14181e; --line: #333b46;
  --accent: #6ea8ff; --peak: #34598f; --free: #262d37; --unobserved: #717b89; --note: #3a2f10; --note-line: #e0a92e;
  --idle: #456f62; --error: #ff7a5c; --unknown: #c48bc4; } }
@media print { :root { color-scheme: light; --ink: #000; --quiet: #444; --page: #fff; --line: #ccc; --accent: #1a62c6;
  --peak: #8fb5ea; --free: #e6ebf2; --unobserved: #9aa3af; --note: #fff; --note-line: #c98a00;
  --idle: #93bfae; --error: #c8381c; --unknown: #9a5b9c; } }
* { box-sizing: border-box; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; } .quiet, figcaption { color: var(--quiet); font-size: .85rem; }
.answer { font-size: 1.15rem; font-weight: 600; margin: 1rem 0; }
.note { background: var(--note); border-left: 4px solid var(--note-line); padding: .5rem .8rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 1.2rem 0; }
.tiles div { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; }
dt, .more { color: var(--quiet); font-size: .8rem; } dd { margin: 0; font-size: 1.25rem; font-weight: 600; line-height: 1.3; }
dd.more { font-size: .8rem; font-weight: 400; } dd.text { font-size: 1rem; }
.plot { display: grid; grid-template-columns: 2.8rem 1fr; margin: 0; }
.plot svg { width: 100%; height: 12rem; display: block; border: 1px solid var(--line); }
.plot.heatmap svg { height: 11rem; border: 0; }
.y { display: flex; flex-direction: column; justify-content: space-between; font-size: .75rem; color: var(--quiet); line-height: 1; }
.heatmap .y { justify-content: space-around; }
.x { grid-column: 2; display: flex; justify-content: space-between; font-size: .75rem; color: var(--quiet); white-space: nowrap; }
figcaption { grid-column: 2; }
.days { position: relative; height: 1.2rem; } .days span { position: absolute; transform: translateX(-50%); }
.grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
.plot rect { shape-rendering: crispEdges; }
.slot { fill: transparent; } .unobserved { fill: var(--unobserved); fill-opacity: .45; }
.line { fill: none; stroke: var(--accent); stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.cell { fill: var(--accent); } .cell.none { fill: var(--unobserved); fill-opacity: .45; }
.bar { width: 9rem; height: .8rem; display: block; } .free { fill: var(--free); } .peak { fill: var(--peak); } .average { fill: var(--accent); }
.band { display: block; width: 100%; height: 1.6rem; background: var(--free); } .hatch { position: absolute; }
.axis { display: flex; justify-content: space-between; color: var(--quiet); font-size: .8rem; }
.sums { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .4rem 0; padding: 0; font-size: .9rem; list-style: none; }
rect.occupied { fill: var(--accent); } rect.idle { fill: var(--idle); } rect.error { fill: var(--error); }
rect.unknown { fill: var(--unknown); } rect.gap { fill: var(--page); }
.swatch { white-space: nowrap; margin-right: .8rem; }
.key { display: inline-block; width: .9rem; height: .7rem; margin-right: .3rem; vertical-align: -1px; }
.line-key, .average-key { background: var(--accent); } .peak-key { background: var(--peak); }
.free-key { background: var(--free); } .unobserved-key { background: var(--unobserved); opacity: .45; }
.scale-key { width: 5rem; background: linear-gradient(to right, transparent, var(--accent)); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; } .number { text-align: right; font-variant-numeric: tabular-nums; }
td.text { max-width: 18rem; white-space: normal; overflow-wrap: break-word; }
@media (max-width: 40rem) { .bar { width: 4rem; } }
@page { margin: 14mm; }
@media print { :root { font-size: 10px; } body { max-width: none; padding: 0; font-size: 10px; }
  th, td { white-space: normal; padding-right: .5rem; } td.text { overflow-wrap: anywhere; } .bar { width: 8rem; } section, tr { break-inside: avoid; } .scroll { overflow: visible; }
  section:has(tr) { break-inside: auto; } }
`;
