import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { findScrollTop, findVisible } from "./virtual_list.js";

Deno.test("findVisible returns whole lines around the visible part, and nothing of an empty list", () => {
  const viewport = { scrollTop: 1000, height: 400, rowHeight: 40 };
  deepEqual(findVisible(viewport, { count: 1000, spare: 2 }), { first: 23, end: 37, firstLine: 23, lines: 1000 });
  deepEqual(findVisible(viewport, { count: 1000, columns: 4, spare: 0 }), {
    first: 100,
    end: 140,
    firstLine: 25,
    lines: 250,
  });
  deepEqual(findVisible(viewport, { count: 0 }), { first: 0, end: 0, firstLine: 0, lines: 0 });
});

Deno.test("findVisible covers every entry that can be seen at any scroll position", () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.integer({ min: 1, max: 9 }), fc.nat(100_000), fc.nat(2000), (...values) => {
      const [count, columns, scrollTop, height] = values;
      const { first, end } = findVisible({ scrollTop, height, rowHeight: 40 }, { count, columns });
      for (let index = 0; index < count; index++) {
        const top = Math.floor(index / columns) * 40;
        const isSeen = top + 40 > scrollTop && top < scrollTop + height;
        if (isSeen && (index < first || index >= end)) return false;
      }
      return first <= count + 8 * columns && end <= count;
    }),
    { numRuns: 50 },
  );
});

Deno.test("findScrollTop moves as little as needed to show an entry", () => {
  const viewport = { scrollTop: 100, height: 200, rowHeight: 50 };
  equal(findScrollTop(1, viewport), 50);
  equal(findScrollTop(2, viewport), 100);
  equal(findScrollTop(5, viewport), 100);
  equal(findScrollTop(6, viewport), 150);
  equal(findScrollTop(12, viewport, 2), 150);
});
