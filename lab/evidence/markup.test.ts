import { describe, expect, it } from 'vitest';
import { escapeMarkup, markup } from './markup.ts';

describe('markup', () => {
  it('escapes what is put in and leaves its own output alone', () => {
    const inner = markup`<b>${'<script>'}</b>`;
    expect(String(markup`<p title="${'"\''}">${inner}${[1, markup`<i></i>`, '&']}${null}${false}</p>`)).toBe(
      '<p title="&quot;&#39;"><b>&lt;script&gt;</b>1<i></i>&amp;</p>',
    );
  });

  it('replaces what XML cannot hold', () => {
    expect(escapeMarkup('a\u0000b\u001b[31mc\ud800d\te\u{1f600}')).toBe('a\ufffdb\ufffd[31mc\ufffdd\te\u{1f600}');
  });
});
