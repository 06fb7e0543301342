// The part of the form about data: which rows there are, and where.

import { make } from "../common/elements.js";
import { formatCount } from "../common/numbers.js";
import { makeField, makePart, namePairs } from "./inputs.js";

export function drawData(form) {
  const { data } = form.fields;
  const { dataset, uploads } = form.settings;
  const sets = namePairs(form.choices.data);
  for (const [id, { name }] of uploads) sets.push([id, name]);
  if (data && !sets.some(([id]) => id === data)) {
    sets.push([data, data.startsWith("upload-") ? "an uploaded file" : data]);
  }
  const file = make("input", {
    id: "file",
    type: "file",
    accept: ".csv,text/csv,.txt,.tsv,.parquet",
    onchange: (event) => form.upload(event.target.files[0]),
  });
  const select = form.select("data", sets, data ?? "engel");
  return makePart(
    "Data",
    makeField("data set", select, dataset?.description),
    makeField("or a file of yours, CSV or Parquet", file),
    drawSites(form, dataset),
    drawNodes(form, dataset),
  );
}

// Columns of a few values, which may say at which site a row is; that of the data set comes first.
function drawSites(form, dataset) {
  const chosen = form.fields["group-by"] ?? "";
  const sites = dataset?.sites ?? {};
  const names = Object.keys(sites).sort(
    (one, other) => (other === dataset.site) - (one === dataset.site),
  );
  if (chosen && !names.includes(chosen)) names.push(chosen);
  if (!names.length) return null;
  const choices = names.map((name) => [
    name,
    sites[name] ? `in column ${name}: ${formatCount(sites[name])} sites` : `in column ${name}`,
  ]);
  const select = form.select("group-by", [["", "every row is a node"], ...choices], chosen);
  return makeField("rows of one site", select, aboutSites(form, dataset));
}

function aboutSites(form, dataset) {
  const count = dataset?.sites?.[form.fields["group-by"]];
  if (!count) return null;
  const part = tellPart(form, dataset);
  const all = `${formatCount((dataset.made_up && form.fields.nodes) || dataset.rows)} rows`;
  const sites = `${part ? "up to " : ""}${formatCount(count)} sites`;
  return `${sites} hold ${part ?? all}; what rows of one site tell each other costs nothing`;
}

// Null where all rows are taken; of made-up data there are as many as are asked for.
function tellPart(form, dataset) {
  const nodes = Number(form.fields.nodes);
  const isPart = dataset && !dataset.made_up && nodes > 1 && nodes < dataset.rows;
  return isPart ? `${formatCount(nodes)} of ${formatCount(dataset.rows)} rows` : null;
}

function drawNodes(form, dataset) {
  const input = form.number("nodes", {
    min: 2,
    max: form.choices.most_nodes,
    step: 1,
    placeholder: dataset ? `all ${formatCount(dataset.rows)}` : "all rows",
  });
  const part = tellPart(form, dataset);
  const hint = part && `${part}, evenly spaced`;
  return makeField(form.fields["group-by"] ? "rows" : "nodes, one per row", input, hint);
}
