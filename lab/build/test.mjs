// `make test`: every check there is, in order of what it costs, and one line at the end that counts them all.
// The output of a step that passes is shown too: a reader of the log should see what was run.
import { spawn } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
process.chdir(root);

/** Runs a command with its output shown; resolves to its exit status. */
function run(command, args, environment = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environment },
    });
    child.on('error', (error) => {
      process.stderr.write(`cannot run ${command}: ${error.message}\n`);
      resolve(127);
    });
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

const total = { passed: 0, failed: 0 };

/** A step that is one check: it passes or fails as a whole. */
async function check(title, command, args) {
  const begin = performance.now();
  process.stdout.write(`\n== ${title}\n`);
  const ok = (await run(command, args)) === 0;
  total[ok ? 'passed' : 'failed']++;
  process.stdout.write(
    `${ok ? 'passed' : 'FAILED'}: ${title} (${((performance.now() - begin) / 1000).toFixed(1)} s)\n`,
  );
  return ok;
}

/** A step that counts its own checks in a file; a step that leaves no file has failed. */
async function counted(title, command, args, file, count) {
  const begin = performance.now();
  process.stdout.write(`\n== ${title}\n`);
  await rm(file, { force: true });
  const code = await run(command, args);
  let counts = { passed: 0, failed: 1 };
  try {
    counts = count(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    process.stdout.write(`${title} left no result: ${error.message}\n`);
  }
  // A non-zero exit without a failed check is a failure that nobody counted.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  total.passed += counts.passed;
  total.failed += counts.failed;
  process.stdout.write(
    `${counts.failed === 0 ? 'passed' : 'FAILED'}: ${title} (${counts.passed} passed, ${counts.failed} failed, ${((performance.now() - begin) / 1000).toFixed(1)} s)\n`,
  );
}

/** What a scenario needs that this backend cannot give is said in its report; skipped for any other reason is a failure. */
function scenarioCounts({ summary, scenarios }) {
  const elsewhere = scenarios.filter(
    ({ verdict, reason }) => verdict === 'skipped' && /run it with --backend vm$/.test(reason),
  ).length;
  return { passed: summary.passed, failed: summary.failed + summary.error + summary.skipped - elsewhere };
}

const lab = [process.execPath, 'dist/lab.js'];
await mkdir('out', { recursive: true });

await check('format', 'npx', ['--no-install', 'biome', 'format', '.']);
await check('lint', 'npx', ['--no-install', 'biome', 'lint', '--error-on-warnings', '.']);
await check('types', 'npx', ['--no-install', 'tsc', '--noEmit']);
if (
  await check('this machine has what the lab needs', lab[0], [
    lab[1],
    'preflight',
    '--install',
    '--for-tests',
    '--for-machines',
  ])
) {
  await counted(
    'unit, golden and lab tests',
    'npx',
    ['--no-install', 'vitest', 'run', '--reporter=default', '--reporter=json', '--outputFile.json=out/unit.json'],
    'out/unit.json',
    // A test that was skipped or is still to be written proved nothing: it counts as failed.
    ({ numPassedTests, numFailedTests, numPendingTests, numTodoTests }) => ({
      passed: numPassedTests,
      failed: numFailedTests + numPendingTests + numTodoTests,
    }),
  );
  await check('soak: 8 kills at random moments leave nothing', lab[0], [lab[1], 'soak', '--kills', '8']);
  await counted('scenarios', lab[0], [lab[1], 'scenarios'], 'out/report/results.json', scenarioCounts);
  // Two machines with kernels of their own. Their image is built when it is not there (a minute and a half) and kept.
  await counted(
    'scenarios on virtual machines',
    lab[0],
    [
      ...[lab[1], 'scenarios', 'single/cross-node', 'ablation/no-loop-guard'],
      ...['--backend', 'vm', '--machines', 'edge-a,worker-b', '--report', 'out/report-vm'],
    ],
    'out/report-vm/results.json',
    scenarioCounts,
  );
}

process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;
