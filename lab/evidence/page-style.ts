/** The report's style sheet. */
import { paletteStyle } from './palette.ts';

const MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

export const PAGE_STYLE = `${paletteStyle(':root')}
*{box-sizing:border-box}
html{background:var(--ground);-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:1128px;padding:56px 24px 96px;color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}
h1,h2,h3,h4,p,ul,ol,dl,dd,figure{margin:0;padding:0}
ul,ol{list-style:none}
h1{font-size:clamp(1.9rem,1.2rem + 2.6vw,2.75rem);line-height:1.15;letter-spacing:-.02em;font-weight:650;text-wrap:balance}
h2{margin-top:64px;margin-bottom:8px;font-size:1.375rem;line-height:1.3;letter-spacing:-.01em;font-weight:650}
h3{margin:28px 0 10px;font-size:.875rem;font-weight:600;color:var(--quiet)}
h4{margin:0 0 10px;font-size:.875rem;font-weight:600;color:var(--quiet)}
a{color:var(--accent);text-underline-offset:.18em;text-decoration-thickness:.06em}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
code,pre{font-family:${MONO};font-size:.8125rem}
code{overflow-wrap:anywhere}
.quiet{color:var(--quiet)}
.visually-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.overline{margin-bottom:12px;color:var(--quiet);font-size:.9375rem}
.lead{margin-top:16px;display:flex;flex-wrap:wrap;gap:4px 24px;font-size:1.0625rem}
.count.none{color:var(--quiet)}
.passed{--verdict:var(--passed)}.failed{--verdict:var(--failed)}.error{--verdict:var(--error)}.skipped{--verdict:var(--skipped)}
.count:not(.none) b{color:var(--verdict)}
.strip{margin-top:20px;display:flex;flex-wrap:wrap;gap:6px}
.strip a{display:block;text-decoration:none;border-radius:6px}
.strip .verdict{width:28px;height:28px;padding:0;justify-content:center;border-radius:6px;border:1px solid color-mix(in srgb,var(--verdict) 45%,transparent);background:var(--surface);font-size:0;gap:0}
.strip .sign{font-size:.875rem}
.strip a:hover .verdict{background:var(--inset)}
.verdict{display:inline-flex;align-items:baseline;gap:8px;color:var(--verdict);font-size:.875rem;font-weight:600;white-space:nowrap}
.strip .verdict{align-items:center}
.sign{display:inline-block;width:1em;text-align:center;font-weight:700}
.scenario{border:1px solid var(--line);border-bottom-width:0;background:var(--surface)}
.theme .scenario:first-of-type{border-radius:10px 10px 0 0}
.theme .scenario:last-of-type{border-bottom-width:1px;border-radius:0 0 10px 10px}
.theme .scenario:first-of-type:last-of-type{border-radius:10px}
summary{cursor:pointer}
.scenario>summary{display:grid;grid-template-columns:88px minmax(0,1fr) auto;gap:4px 16px;align-items:baseline;padding:15px 20px;list-style:none}
.scenario>summary::-webkit-details-marker{display:none}
.scenario>summary:hover .name{text-decoration:underline;text-decoration-thickness:.06em;text-underline-offset:.2em}
.scenario .name{display:block;font-weight:600}
.scenario .name::after{content:'';display:inline-block;width:.4em;height:.4em;margin-left:.6em;border:solid var(--quiet);border-width:0 1.5px 1.5px 0;transform:translateY(-.2em) rotate(45deg)}
.scenario[open] .name::after{transform:translateY(.02em) rotate(-135deg)}
.scenario .sentence{display:block;color:var(--quiet);max-width:68ch;text-wrap:pretty}
.time{color:var(--quiet);font-size:.875rem;white-space:nowrap}
.body{padding:8px 20px 24px 124px;display:grid;gap:28px}
.body>section{min-width:0}
.failure{padding:14px 18px;border-left:3px solid var(--verdict);border-radius:0 8px 8px 0;background:var(--inset);display:grid;gap:8px}
main>.failure{margin-top:32px}
.reason{font-weight:600;overflow-wrap:anywhere}
.diagnosis{max-width:72ch;overflow-wrap:anywhere}
.checks{display:grid;gap:10px}
.checks li{display:grid;grid-template-columns:20px minmax(0,1fr);gap:6px}
.checks .sign{color:var(--verdict)}
.checks .kind{padding:1px 7px;border:1px solid var(--line);border-radius:99px;color:var(--quiet);font-size:.75rem;white-space:nowrap}
.values{color:var(--quiet);font-size:.875rem}
.values span{display:inline-block}
.values code{color:var(--ink)}
.failed .values .seen{color:var(--failed)}
.checks .failed .values span{min-width:66px}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:24px 32px}
figure{min-width:0}
figcaption{margin-top:6px;color:var(--quiet);font-size:.875rem}
.sequence{display:block;max-width:100%;height:auto;font-family:${MONO};font-size:10.5px}
.sequence text{fill:var(--ink);stroke:var(--surface);stroke-width:4px;paint-order:stroke;stroke-linejoin:round}
.sequence .lane{stroke:var(--line);stroke-width:1.2}
.sequence .lane-name,.sequence .lane-role{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}
.sequence .lane-name{font-size:12px;font-weight:600}
.sequence .lane-role{font-size:11px;fill:var(--quiet)}
.message line,.message path{stroke:var(--tone);fill:none;stroke-width:1.4}
.message .head,.message circle{fill:var(--tone);stroke:none}
.message.request{--tone:var(--ink)}
.message.answer{--tone:var(--passed)}.message.answer line{stroke-dasharray:5 3}
.message.wrong{--tone:var(--failed)}.message.wrong line{stroke-dasharray:5 3}
.message.refused,.message.lost{--tone:var(--error)}.message.lost line{stroke-dasharray:2 4}
.sequence .answer text,.sequence .wrong text,.sequence .refused text,.sequence .lost text{fill:var(--tone)}
.more{margin-top:14px}
.more>summary{color:var(--accent);font-size:.875rem;width:fit-content}
.more pre{margin:8px 0 0;padding:12px 14px;overflow-x:auto;background:var(--ground);border-radius:6px;line-height:1.5}
.scroll{overflow-x:auto;margin-top:8px}
.scroll+.scroll{margin-top:24px}
table{border-collapse:collapse;width:100%;font-size:.875rem;text-align:left}
caption{text-align:left;padding-bottom:6px}
th{font-weight:600;color:var(--quiet);font-size:.8125rem;white-space:nowrap}
th,td{padding:7px 14px 7px 0;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child td{border-bottom:0}
th:last-child,td:last-child{padding-right:10px}
td code{white-space:nowrap}
.wrong,.wrong small{color:var(--failed)}
.exchanges td{white-space:nowrap}
td small{display:block;color:var(--quiet);font-size:.8125rem}
.number{text-align:right;white-space:nowrap}
.counters td:first-child,.counters th:first-child{padding-left:10px;width:100%}
.counters .subject,.counters .place,.bytes{display:block}
.counters .subject{min-width:200px;overflow-wrap:anywhere}
.counters .place,.bytes{color:var(--quiet);font-size:.8125rem}
.counters .place code{white-space:normal;font-size:.75rem}
.moved td{background:var(--moved)}
.delta{font-weight:600}
.wide,.narrow{margin-top:16px}
.narrow{display:none}
.bar{display:flex;gap:2px;height:14px;border-radius:5px;overflow:hidden}
.bar span{flex-basis:3px;min-width:3px}
.shade-0{background:var(--accent)}.shade-1{background:color-mix(in srgb,var(--accent) 62%,var(--ground))}.shade-2{background:var(--mesh)}.shade-3{background:color-mix(in srgb,var(--mesh) 55%,var(--ground))}.shade-4{background:var(--quiet)}.shade-5{background:color-mix(in srgb,var(--quiet) 50%,var(--ground))}.shade-6{background:color-mix(in srgb,var(--accent) 35%,var(--ground))}.shade-7{background:color-mix(in srgb,var(--mesh) 30%,var(--ground))}
.phases{margin-top:28px}
.phases ol{display:flex;flex-wrap:wrap;gap:4px 22px;margin-top:10px;font-size:.875rem}
.key{display:inline-block;width:10px;height:10px;margin-right:8px;border-radius:2px}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:14px 24px;margin-top:16px}
.facts dt{color:var(--quiet);font-size:.875rem}
.facts dd{overflow-wrap:anywhere}
.told{display:grid;grid-template-columns:minmax(0,340px) minmax(0,1fr);gap:16px 36px;align-items:start}
.hops{display:grid;gap:16px}
.hops .ordinal{display:inline-block;min-width:1.6em;height:1.6em;line-height:1.6em;text-align:center;border:1px solid var(--line);border-radius:99px;font-size:.8125rem;color:var(--quiet)}
.addresses code{font-size:.8125rem}
.addresses b{color:var(--accent);font-weight:650}
.rules{margin-top:4px;display:grid;gap:2px;font-size:.8125rem;color:var(--quiet)}
.rules li{overflow-wrap:anywhere}
.rules .delta{display:inline-block;min-width:2.4em;color:var(--ink)}
.rules code{font-size:.75rem;color:var(--ink)}
.difference{margin-bottom:12px;max-width:80ch;overflow-wrap:anywhere}
.difference strong{color:var(--failed)}
@media (min-width:900px){.checks li>div{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);column-gap:24px}.checks .title{grid-row:1/span 2}.checks .values{line-height:1.7}}
@media (max-width:720px){
.told{grid-template-columns:minmax(0,1fr)}
body{padding:32px 16px 64px}
h2{margin-top:48px}
.scenario>summary{grid-template-columns:1fr auto;padding:14px 14px}
.scenario>summary .verdict{grid-row:1;grid-column:1}
.scenario>summary .time{grid-row:1;grid-column:2}
.scenario>summary .what{grid-row:2;grid-column:1/-1}
.body{padding:4px 14px 20px}
.wide{display:none}
.narrow{display:block}
.narrow svg{width:100%}
.counters .bytes{display:none}
.counters .subject{min-width:0}
.counters th,.counters td{padding-right:10px}
}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{body{max-width:none;padding:0}.scenario{break-inside:avoid}}
`;
