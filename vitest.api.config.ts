import { defineConfig } from 'vitest/config';

/** The contract tests alone, for either API server; what needs a real one is named *.real.ts. */
export default defineConfig({
  test: {
    include: [
      'lab/cluster/contract/*.test.ts',
      ...(process.env.KUPORT_TEST_API === 'kubernetes' ? ['lab/cluster/contract/*.real.ts'] : []),
    ],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // One server at a time: each takes 400 MB.
    maxWorkers: 1,
  },
});
