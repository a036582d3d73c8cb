import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { summarise } from '../evidence/results.ts';
import { EXAMPLE_RUN } from '../evidence/testing/example-run.ts';
import { formatDuration } from './duration.ts';
import { formatError, formatWarning } from './messages.ts';
import { Progress } from './progress.ts';
import { printScenarioTable, summaryLine } from './scenario-table.ts';
import { formatTable } from './table.ts';
import { displayWidth, openTerminal, type Terminal } from './terminal.ts';

function recorded(options: { isTTY?: boolean; columns?: number } = {}, environment: NodeJS.ProcessEnv = {}) {
  const output = { text: '' };
  const stream = {
    ...options,
    write(text: string): void {
      output.text += text;
    },
  };
  const terminal: Terminal = openTerminal(stream, environment);
  return { output, terminal };
}
const ESCAPE = '\u001b';

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [0.418, '0.42 ms'],
    [9.999, '10 ms'],
    [12.44, '12.4 ms'],
    [99.97, '100 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [5_234, '5.2 s'],
    [9_960, '10 s'],
    [59_600, '1 min 00 s'],
    [125_000, '2 min 05 s'],
    [3_660_000, '1 h 01 min'],
  ])('%f ms is %s', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });
});

describe('a terminal', () => {
  it('is coloured only when it is one, and not under NO_COLOR', () => {
    const paint = (options: object, environment: NodeJS.ProcessEnv = {}): string =>
      recorded(options, environment).terminal.colours.red('x');
    expect(paint({ isTTY: true })).toContain(ESCAPE);
    expect(paint({})).toBe('x');
    expect(paint({ isTTY: true }, { NO_COLOR: '1' })).toBe('x');
    expect(paint({ isTTY: true }, { NO_COLOR: '' })).toContain(ESCAPE);
    expect(paint({ isTTY: true }, { TERM: 'dumb' })).toBe('x');
  });

  it('says its width, and that a pipe has none', () => {
    expect(recorded({ isTTY: true, columns: 100 }).terminal.width).toBe(100);
    expect(recorded().terminal.width).toBe(Number.POSITIVE_INFINITY);
  });

  it('is told from a pipe in a real process', async () => {
    const script = `import { openTerminal } from '${new URL('./terminal.ts', import.meta.url).pathname}';
      const t = openTerminal(); t.line(JSON.stringify([t.interactive, t.colours.red('x'), Number.isFinite(t.width)]));`;
    const bundle = await execa('npx', ['esbuild', '--bundle', '--platform=node', '--format=cjs', '--loader=ts'], {
      input: script,
    });
    const environment = { TERM: 'xterm', CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined };
    const piped = await execa('node', ['-'], { input: bundle.stdout, env: environment });
    expect(JSON.parse(piped.stdout)).toEqual([false, 'x', false]);
    // `script` gives a child a pseudo-terminal.
    const onTerminal = await execa('script', ['-qec', 'node -e "$PROGRAM"', '/dev/null'], {
      env: { ...environment, PROGRAM: bundle.stdout },
    });
    expect(JSON.parse(onTerminal.stdout)).toEqual([true, '\u001b[31mx\u001b[39m', true]);
  });
});

describe('tables', () => {
  const columns = [{ title: 'Name' }, { title: 'Time', align: 'right' as const }, { title: 'What it proves' }];
  const rows = [
    ['single/cross-node', '1.2 s', 'The pod sees the address of the client and not that of a node.'],
    ['none/local', '340 ms', 'Short.'],
  ];

  it('are one line a row, aligned, in a pipe', () => {
    expect(formatTable(recorded().terminal, columns, rows)).toBe(
      [
        'Name                 Time  What it proves',
        'single/cross-node   1.2 s  The pod sees the address of the client and not that of a node.',
        'none/local         340 ms  Short.',
      ].join('\n'),
    );
  });

  it('wrap the last column to the width of the terminal', () => {
    const { terminal } = recorded({ isTTY: true, columns: 60 }, { NO_COLOR: '1' });
    expect(formatTable(terminal, columns, rows)).toBe(
      [
        'Name                 Time  What it proves',
        'single/cross-node   1.2 s  The pod sees the address of the',
        '                           client and not that of a node.',
        'none/local         340 ms  Short.',
      ].join('\n'),
    );
  });

  it('are as wide with colour as without', () => {
    const { terminal } = recorded({ isTTY: true, columns: 60 });
    const painted = rows.map(([name = '', ...rest]) => [terminal.colours.green(name), ...rest]);
    const plain = recorded({ isTTY: true, columns: 60 }, { NO_COLOR: '1' }).terminal;
    const stripped = stripVTControlCharacters(formatTable(terminal, columns, painted));
    expect(stripped.replaceAll(/ +$/gm, '')).toBe(formatTable(plain, columns, rows));
  });

  it('refuse a row of another length', () => {
    expect(() => formatTable(recorded().terminal, columns, [['a']])).toThrow(/3 columns: a row has 1 cells/);
  });
});

describe('the table of scenarios', () => {
  it('tells name, verdict, time, sentence, and the reason of what did not pass', () => {
    const { terminal, output } = recorded();
    printScenarioTable(terminal, EXAMPLE_RUN.scenarios);
    expect(output.text).toMatch(/^Scenario +Verdict +Time +What it proves\n/);
    expect(output.text).toMatch(/^single\/same-node +passed +612 ms +A datagram to the node/m);
    expect(output.text).toContain(
      'failed single/follows-the-pod: the pod on worker-c answers: expected answered, seen timeout',
    );
    expect(output.text).toContain('  most likely: tx_errors and collisions');
    expect(output.text).toContain('  evidence: out/report/evidence/single/follows-the-pod/index.txt');
    expect(output.text).not.toContain(ESCAPE);
  });

  it('fits a terminal of 80 columns', () => {
    const { terminal, output } = recorded({ isTTY: true, columns: 80 });
    printScenarioTable(terminal, EXAMPLE_RUN.scenarios.slice(0, 2));
    for (const line of output.text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(80);
  });

  it('counts an error as failed in the last line', () => {
    expect(summaryLine(summarise(EXAMPLE_RUN))).toBe('3 passed, 2 failed, 1 skipped');
    expect(summaryLine({ passed: 14, failed: 0 })).toBe('14 passed, 0 failed');
  });
});

describe('messages', () => {
  const plain = recorded().terminal.colours;
  it('say what, where and what to do', () => {
    const problem = {
      what: 'unknown field "natkind"',
      where: 'home-edge.yaml:12',
      todo: 'write "nat",\nor leave it out',
    };
    expect(formatError(problem, plain)).toBe(
      'error: unknown field "natkind"\n  where: home-edge.yaml:12\n  to do: write "nat",\n         or leave it out',
    );
    expect(formatWarning({ what: 'no kernel WireGuard' }, plain)).toBe('warning: no kernel WireGuard');
  });
});

describe('progress', () => {
  it('is one plain line a step in a pipe', async () => {
    const { terminal, output } = recorded();
    const progress = new Progress(terminal);
    await progress.during('network', () => sleep(120));
    const step = progress.start('mesh');
    step.fail('no handshake in 5 s');
    step.done();
    expect(output.text).toMatch(/^✓ network \d{3} ms\n✗ mesh [\d.]+ ms: no handshake in 5 s\n$/);
  });

  it('is a living line on a terminal, and other lines go above it', async () => {
    const { terminal, output } = recorded({ isTTY: true, columns: 40 }, { NO_COLOR: '1' });
    const progress = new Progress(terminal);
    const step = progress.start('network');
    await sleep(250);
    progress.line('a word');
    step.done();
    expect(output.text).toMatch(/› network [1-9]00 ms/);
    expect(shown(output.text)).toMatch(/^a word\n✓ network \d{3} ms\n$/);
  });

  it('never makes the living line longer than the terminal', () => {
    const { terminal, output } = recorded({ isTTY: true, columns: 30 }, { NO_COLOR: '1' });
    new Progress(terminal).start('a title that is much longer than the terminal is wide').done();
    expect(output.text).toMatch(/^› a title that is much … 0 ms/);
    expect(displayWidth(output.text.split('\r')[0] ?? '')).toBeLessThan(30);
  });

  it('passes on what the work threw', async () => {
    const { terminal, output } = recorded();
    const work = async (): Promise<never> => {
      throw new Error('edge-a: no route\nmore');
    };
    await expect(new Progress(terminal).during('mesh', work)).rejects.toThrow('edge-a: no route');
    expect(output.text).toMatch(/^✗ mesh .*: edge-a: no route\n$/);
  });
});

/** What is left to see after every "go back and erase to the end of the line". */
function shown(text: string): string {
  const lines = text.split('\n').map((line) => line.split(`\r${ESCAPE}[K`).at(-1));
  return lines.join('\n');
}
