/**
 * A duration for people, three significant digits at most: `0.42 ms`, `12.4 ms`, `340 ms`, `5.2 s`, `48 s`, `2 min 05 s`.
 * @param milliseconds any non-negative number
 */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 10) return `${trimmed(milliseconds, 2)} ms`;
  if (milliseconds < 99.95) return `${trimmed(milliseconds, 1)} ms`;
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
