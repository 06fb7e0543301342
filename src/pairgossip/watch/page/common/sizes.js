// How large the nodes of a picture are.

const LARGEST = 11; // radius of a node, in pixels
const LARGEST_SITE = 26;
const LEAST = 2.2;
const LEAST_SHARE = 0.3; // of a site with next to no rows, compared with the largest

// Half the typical distance to the nearest other node, within limits that look well.
export function fittingRadius(x, y, { isLarge }) {
  const nodes = x.length;
  const nearest = [];
  for (let k = 0; k < nodes; k += Math.max(1, Math.floor(nodes / 60))) {
    let least = Infinity;
    for (let m = 0; m < nodes; m += 1) {
      if (m !== k) least = Math.min(least, (x[k] - x[m]) ** 2 + (y[k] - y[m]) ** 2);
    }
    nearest.push(Math.sqrt(least));
  }
  nearest.sort((a, b) => a - b);
  const typical = nearest[Math.floor(nearest.length / 2)];
  const most = (isLarge ? LARGEST_SITE : LARGEST) * devicePixelRatio;
  return Math.min(most, Math.max(LEAST * devicePixelRatio, 0.44 * typical));
}

// The radius of every site as a share of the largest, so that areas show the numbers of rows.
export function siteScales(rows) {
  const most = Math.max(...rows);
  return rows.map((count) => Math.max(LEAST_SHARE, Math.sqrt(count / most)));
}
