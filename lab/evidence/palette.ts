/**
 * The colours of the report and its drawings. Calm paper and ink; the verdict colours are the only loud ones, and none
 * of them is the only sign of anything. Text colours reach a contrast of 4.5:1 on both grounds (a test computes it).
 */

export interface Palette {
  ground: string;
  /** Cards and boxes on the ground. */
  surface: string;
  /** Insets on a surface: code, table stripes. */
  inset: string;
  line: string;
  ink: string;
  quiet: string;
  accent: string;
  mesh: string;
  passed: string;
  failed: string;
  error: string;
  skipped: string;
  /** Behind a counter that moved. */
  moved: string;
}

export const LIGHT: Palette = {
  ground: '#f7f6f2',
  surface: '#fffefb',
  inset: '#f1f0ea',
  line: '#dddbd2',
  ink: '#22262b',
  quiet: '#5d646c',
  accent: '#1f5f75',
  mesh: '#6a4c93',
  passed: '#256b45',
  failed: '#b0332a',
  error: '#8a5200',
  skipped: '#5d646c',
  moved: '#fdf3d3',
};

export const DARK: Palette = {
  ground: '#15181b',
  surface: '#1c2024',
  inset: '#23282d',
  line: '#343a41',
  ink: '#e4e6e3',
  quiet: '#a0a8b0',
  accent: '#7fbfd4',
  mesh: '#b9a1de',
  passed: '#79c79a',
  failed: '#f28f84',
  error: '#e2b25c',
  skipped: '#a0a8b0',
  moved: '#3d3520',
};

/** Custom properties (`--ink` and so on) on an element, following the reader's preference for light or dark. */
export function paletteStyle(selector: string): string {
  const properties = (palette: Palette): string =>
    Object.entries(palette)
      .map(([name, colour]) => `--${name}:${colour}`)
      .join(';');
  return `${selector}{color-scheme:light dark;${properties(LIGHT)}}
@media (prefers-color-scheme:dark){${selector}{${properties(DARK)}}}`;
}
