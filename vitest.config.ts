import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['agent/**/*.test.ts', 'lab/**/*.test.ts', 'golden/**/*.test.ts'],
    // The lab's tests run the bundled programs.
    globalSetup: ['lab/build/build-for-tests.ts'],
    // Tests of the lab boot namespaces and real processes: a hung one must fail, not stall the run.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Two cores: the files that boot a lab take one at a time, the rest is fast anyway.
    maxWorkers: 2,
  },
});
