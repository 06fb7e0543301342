// What to try after a run: each suggestion changes the settings in one respect.

const MOST = 3;
const FACTOR = 10;
const MOST_ITERATIONS = 1e9;
const LITTLE = 0.1; // of the sampling error
const SAME = 1e-9; // relative, more than rounding

// Whether more messages would hardly improve the result.
export function isEnough({ sampling }, { error }) {
  return error !== null && Boolean(sampling?.error) && error <= LITTLE * sampling.error;
}

// A list of {text, title, act}; act changes the settings.
export function suggest({ settings, runs, frames }) {
  const all = settings.isComparing
    ? [moreSteps(settings, runs, frames), connectBoth(settings), leaveSecond(settings)]
    : [
        moreSteps(settings, runs, frames),
        compareSketch(settings),
        compareGraphs(settings, runs),
        connect(settings),
        useSites(settings),
      ];
  return all.filter(Boolean).slice(0, MOST);
}

// Whether a run that ends by itself had enough steps to do so: all nodes then know the same.
export function hasEnded({ ends, has_rounds }, { error, spread, mean }) {
  return has_rounds || (ends && error !== null && spread <= SAME * Math.abs(mean));
}

// Unless all runs have ended by themselves, or know enough.
function moreSteps(settings, runs, frames) {
  const isDone = (run, k) => hasEnded(run, frames[k]) || isEnough(run, frames[k]);
  // What rounds take is no setting.
  const steps = Math.max(...frames.filter((_, k) => !runs[k].has_rounds).map(({ done }) => done));
  if (runs.every(isDone) || FACTOR * steps > MOST_ITERATIONS) return null;
  return {
    text: "Ten times as many steps",
    title: "the same run, longer",
    act: () => settings.set("iterations", String(FACTOR * steps)),
  };
}

function compareSketch(settings) {
  if (!settings.canSketch || settings.methodOf("") === "sketch") return null;
  // Along a tree there is no choice that could follow a law.
  const schedule = ["node-clocks", "best"].includes(settings.fields.law) ? "random" : "tree";
  return {
    text: "Compare with sketch",
    title: "beside it, a run in which sums travel instead of rows: far fewer messages",
    act: () => settings.compareWith({ method: "sketch", clock: "sync", schedule }),
  };
}

function compareGraphs(settings, runs) {
  const other = settings.graphOf("")?.name === "complete" ? "cycle" : "complete";
  if (other === "cycle" && runs[0].nodes < 3) return null;
  return {
    text: `Compare with a ${other} graph`,
    title: "beside it, the same on a graph that is connected differently",
    act: () => settings.compareWith({ graph: other }),
  };
}

function connect(settings) {
  if (settings.graphOf("")?.name === "complete") return null;
  return {
    text: "On a complete graph",
    title: "where everybody may meet everybody: the best connected there is",
    act: () => settings.chooseGraph("", "complete"),
  };
}

function connectBoth(settings) {
  const isComplete = (suffix) => settings.graphOf(suffix)?.name === "complete";
  if (settings.suffixes.some(isComplete)) return null;
  return {
    text: "Both on a complete graph",
    title: "where everybody may meet everybody: the best connected there is",
    act: () => {
      for (const suffix of settings.suffixes) settings.chooseGraph(suffix, "complete");
    },
  };
}

function useSites(settings) {
  const { site, sites } = settings.dataset ?? {};
  if (!sites?.[site] || settings.fields["group-by"]) return null;
  return {
    text: "Rows at sites",
    title: `a node for each ${site}, which holds all its rows`,
    act: () => settings.update("group-by", site),
  };
}

function leaveSecond(settings) {
  return {
    text: "The first run alone",
    title: "without the second one",
    act: () => settings.compare(false),
  };
}
