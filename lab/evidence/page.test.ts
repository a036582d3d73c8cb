import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { reportPage } from './page.ts';
import { DARK, LIGHT, type Palette } from './palette.ts';
import type { Run, ScenarioResult } from './results.ts';
import { groupExchanges } from './sequence-svg.ts';
import { EXAMPLE_RUN } from './testing/example-run.ts';

type Element = DefaultTreeAdapterTypes.Element;
type Parent = DefaultTreeAdapterTypes.ParentNode;

/** Parses as a browser does, but reports what a browser would forgive. */
function page(run: Run): { elements: Element[]; errors: string[]; text: string } {
  const errors: string[] = [];
  const document = parse(reportPage(run), {
    onParseError: (error) => errors.push(error.code),
  });
  const elements: Element[] = [];
  let text = '';
  const visit = (parent: Parent): void => {
    for (const child of parent.childNodes) {
      if ('value' in child) text += child.value;
      if ('tagName' in child) elements.push(child);
      if ('childNodes' in child) visit(child);
    }
  };
  visit(document);
  return { elements, errors, text };
}
const attribute = (element: Element, name: string): string | undefined =>
  element.attrs.find((each) => each.name === name)?.value;

const [sample] = EXAMPLE_RUN.scenarios;
if (!sample) throw new Error('the example has no scenario');
const template: ScenarioResult = sample;

describe('the report page', () => {
  const { elements, errors, text } = page(EXAMPLE_RUN);

  it('is HTML without an error a browser would have to forgive', () => {
    expect(errors).toEqual([]);
    expect(elements.filter((element) => element.tagName === 'h1')).toHaveLength(1);
  });

  it('holds every scenario, check, address, counter and version', () => {
    for (const scenario of EXAMPLE_RUN.scenarios) {
      expect(text).toContain(scenario.name);
      expect(text).toContain(scenario.sentence);
      for (const check of scenario.checks)
        for (const part of [check.title, check.expected, check.seen]) expect(text).toContain(part);
      for (const exchange of scenario.exchanges) expect(text).toContain(exchange.source);
      for (const table of scenario.counters) for (const row of table.rows) expect(text).toContain(row.subject);
    }
    expect(text).toContain('2 of 5 scenarios did not pass');
    expect(text).toContain('+12');
    expect(text).toContain('6.18.5');
    expect(text).toContain('1 December 2025 at 10:48 UTC');
    expect(text).toContain('The loop guard (pref 101) for 100.64.93.143 is missing');
  });

  it('opens what went wrong and links to its evidence', () => {
    const scenarios = elements.filter((element) => attribute(element, 'class') === 'scenario');
    const open = scenarios
      .filter((element) => attribute(element, 'open') !== undefined)
      .map((element) => attribute(element, 'id'));
    expect(scenarios).toHaveLength(6);
    expect(open).toEqual(['scenario-single-follows-the-pod', 'scenario-none-refuses-remote']);
    const links = elements.filter((element) => element.tagName === 'a').map((element) => attribute(element, 'href'));
    expect(links).toContain('./evidence/single/follows-the-pod/index.txt');
  });

  it('loads nothing: no script, no image, no address but its own', () => {
    expect(elements.map((element) => element.tagName)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(script|link|img|iframe|object|embed)$/)]),
    );
    const references = elements.flatMap((element) =>
      element.attrs.filter(({ name }) => /^(src|href|srcset|xlink:href)$/.test(name)),
    );
    for (const { value } of references) expect(value).toMatch(/^(#scenario-|\.\/evidence\/)/);
    const styles = elements.filter((element) => element.tagName === 'style').map((element) => element.childNodes);
    expect(JSON.stringify(styles.flat().map((node) => ('value' in node ? node.value : '')))).not.toMatch(
      /url\(|@import/,
    );
  });

  it('gives each element its own id, and every link within the page a target', () => {
    const ids = elements.flatMap((element) => attribute(element, 'id') ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const anchors = elements.flatMap((element) => attribute(element, 'href')?.match(/^#(.*)/)?.[1] ?? []);
    expect(ids).toEqual(expect.arrayContaining(anchors));
    const labels = elements.flatMap((element) => attribute(element, 'aria-labelledby')?.split(' ') ?? []);
    expect(ids).toEqual(expect.arrayContaining(labels));
  });

  it('escapes whatever a scenario, a host or a topology says', () => {
    const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;`;
    const scenario: ScenarioResult = {
      ...template,
      name: `theme/${hostile}`,
      sentence: hostile,
      verdict: 'failed',
      reason: hostile,
      diagnosis: hostile,
      evidenceFolder: `evidence/${hostile}`,
      failure: { message: hostile, stack: hostile },
      checks: [{ title: hostile, kind: 'assertion', expected: hostile, seen: hostile, ok: false }],
      exchanges: template.exchanges.map((exchange) => ({
        ...exchange,
        client: hostile,
        pod: hostile,
        source: hostile,
        note: hostile,
      })),
      counters: [
        {
          host: hostile,
          about: hostile,
          rows: [
            {
              kind: 'rule',
              place: hostile,
              subject: hostile,
              text: hostile,
              before: { packets: 0, bytes: 0 },
              after: { packets: 1, bytes: 1 },
            },
          ],
        },
      ],
    };
    const topology = { ...EXAMPLE_RUN.topology, name: hostile, clients: [{ name: hostile, address: hostile }] };
    const shown = page({
      ...EXAMPLE_RUN,
      backend: hostile,
      topology,
      phases: [{ name: hostile, milliseconds: 1 }],
      scenarios: [scenario],
    });
    expect(shown.errors).toEqual([]);
    expect(shown.elements.filter((element) => /^(script|img)$/.test(element.tagName))).toEqual([]);
    expect(shown.elements.flatMap((element) => element.attrs.filter(({ name }) => name.startsWith('on')))).toEqual([]);
    expect(shown.text.split(hostile).length).toBeGreaterThan(15);
  });

  it.each([
    [{ scenarios: [] }, 'No scenario ran'],
    [{ scenarios: [template] }, 'The one scenario passed'],
    [{ scenarios: [template, { ...template, name: 'single/other' }] }, 'All 2 scenarios passed'],
    [
      { scenarios: [], setupFailure: { message: 'nft is missing', evidenceFolder: 'evidence/set-up' } },
      'The lab did not come up',
    ],
  ])('says in its headline how the run went: %#', (change: Partial<Run>, headline) => {
    const shown = page({ ...EXAMPLE_RUN, ...change });
    expect(shown.errors).toEqual([]);
    expect(shown.text).toContain(headline);
    if (change.setupFailure) expect(shown.text).toContain('nft is missing');
  });
});

describe('exchanges', () => {
  it('that differ in ports and time only are one drawing', () => {
    const crossNode = EXAMPLE_RUN.scenarios.find((scenario) => scenario.name === 'single/cross-node');
    const groups = groupExchanges(crossNode?.exchanges ?? []);
    expect(groups.map((group) => group.length)).toEqual([3, 1, 1]);
  });

  it('whose port was rewritten on the way are not', () => {
    const [first] = template.exchanges;
    if (!first) throw new Error('the example has no exchange');
    expect(groupExchanges([first, { ...first, podSaw: '198.51.100.7:1024' }])).toHaveLength(2);
  });
});

describe('colours', () => {
  const luminance = (colour: string): number => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
  };
  const contrast = (one: string, other: string): number => {
    const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (lighter + 0.05) / (darker + 0.05);
  };
  const texts = ['ink', 'quiet', 'accent', 'mesh', 'passed', 'failed', 'error', 'skipped'] as const;
  const grounds = ['ground', 'surface', 'inset'] as const;
  const cases = (
    [
      ['light', LIGHT],
      ['dark', DARK],
    ] as [string, Palette][]
  ).flatMap(([name, palette]) =>
    texts.flatMap((text) =>
      grounds.map((ground) => [`${text} on ${ground}, ${name}`, palette[text], palette[ground]] as const),
    ),
  );

  it.each(cases)('%s is readable', (_name, text, ground) => {
    expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each([LIGHT, DARK])('a moved counter is readable', (palette) => {
    expect(contrast(palette.quiet, palette.moved)).toBeGreaterThanOrEqual(4.5);
  });
});
