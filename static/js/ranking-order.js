// The arithmetic of ranks: arrays of numbers, one a card, 0 for "not ranked yet". Every function returns a new array,
// or the same one where nothing changes. Ranks may have gaps while somebody is at it: who types 3 first means 3.
"use strict";
(() => {
  const levelsOf = (ranks) => [...new Set(ranks.filter(Boolean))].sort((a, b) => a - b);

  /** Free `rank` by moving its neighbours one step: towards where the card came from, else towards the end. */
  const makeRoom = (ranks, rank, earlierward) => {
    const step = earlierward ? -1 : 1;
    let free = rank;
    while (ranks.includes(free)) free += step;
    const [low, high] = [Math.min(rank, free), Math.max(rank, free)];
    return ranks.map((other) => (other >= low && other <= high ? other + step : other));
  };
  const hasRoom = (ranks, rank, step) => {
    let free = rank;
    while (ranks.includes(free)) free += step;
    return free >= 1 && free <= ranks.length;
  };

  /** Put a card alone between two levels; 0 above and size + 1 below are the ends. */
  const rankInsert = (ranks, index, above, below) => {
    const home = ranks[index];
    const others = ranks.with(index, 0);
    if (home > above && home < below && !others.includes(home)) return ranks;
    if (below - above > 1) return others.with(index, above + 1);
    const earlierward = hasRoom(others, above, -1) && ((home > 0 && home <= above) || !hasRoom(others, below, 1));
    const rank = earlierward ? above : below;
    return makeRoom(others, rank, earlierward).with(index, rank);
  };

  /** Give a card a rank. Where ties are off, whoever has it makes room. */
  const rankGive = (ranks, index, rank, ties) => {
    const home = ranks[index];
    if (home === rank) return ranks;
    const others = ranks.with(index, 0);
    if (ties || !others.includes(rank)) return others.with(index, rank);
    const earlierward = hasRoom(others, rank, -1) && ((home > 0 && home < rank) || !hasRoom(others, rank, 1));
    return makeRoom(others, rank, earlierward).with(index, rank);
  };

  /** One step up (-1) or down (1): past the next level, out of a tie, never into one. Unranked, up is the next rank. */
  const rankMove = (ranks, index, step) => {
    const home = ranks[index];
    const others = ranks.with(index, 0);
    const levels = levelsOf(others);
    const end = ranks.length + 1;
    if (!home) return step < 0 ? rankInsert(ranks, index, levels.at(-1) ?? 0, end) : ranks;
    const above = levels.filter((level) => level < home);
    const below = levels.filter((level) => level > home);
    if (others.includes(home)) {
      return step < 0 ? rankInsert(ranks, index, above.at(-1) ?? 0, home) : rankInsert(ranks, index, home, below[0] ?? end);
    }
    const next = home + step;
    const beyond = step < 0 ? next >= 1 : below.length > 0;
    if (beyond && !others.includes(next)) return others.with(index, next);
    if (step < 0) return above.length ? rankInsert(ranks, index, above.at(-2) ?? 0, above.at(-1)) : ranks;
    return below.length ? rankInsert(ranks, index, below[0], below[1] ?? end) : ranks;
  };

  /** Give these cards, in their order, the ranks that nobody has. */
  const rankRest = (ranks, indices) => {
    const free = ranks.map((_, place) => place + 1).filter((rank) => !ranks.includes(rank));
    return indices.reduce((known, index, place) => known.with(index, free[place]), ranks);
  };

  window.touchstoneOrder = { levelsOf, rankInsert, rankGive, rankMove, rankRest };
})();
