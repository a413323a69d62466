// Beam search as a tree: a column a step, a box for what was kept, and for what the current step dropped.

import {Scene, shortened, textWidth} from "./scene.js";

const COLUMN = 136;
const ROW = 36;
const TOP = 26;
const BOX = {width: 112, height: 28};

/**
 * Every candidate of a search as a node: {step, rank, candidate, ids, text, parent}; `parent` is a node or null.
 * `tree` is a session's: its candidates come best first and name their parent's place among those kept before.
 */
export function treeNodes(tree) {
  const steps = [];
  let open = [null]; // the nodes that go on, by their places
  for (const {candidates} of tree) {
    const next = [];
    const nodes = candidates.map((candidate, rank) => {
      const parent = open[candidate.parent] ?? null;
      const node = {
        step: steps.length,
        rank,
        candidate,
        parent,
        ids: [...(parent?.ids ?? []), candidate.id],
        text: (parent?.text ?? "") + candidate.piece,
      };
      if (candidate.fate === "kept") next[candidate.child] = node;
      return node;
    });
    steps.push(nodes);
    open = next;
  }
  return steps;
}

/** The nodes that lead to a hypothesis: a Set. */
export function pathTo(steps, ids, end) {
  const path = new Set();
  const wanted = [...ids, end];
  for (const nodes of steps) {
    for (const node of nodes) {
      if (node.candidate.fate !== "dropped" && node.ids.every((id, i) => id === wanted[i])) path.add(node);
    }
  }
  return path;
}

/** The tree up to a step: the scene, and the boxes of its nodes [{node, x, y, width, height}]. */
export function treeScene(steps, upTo, path, about, colours) {
  const shown = steps.slice(0, upTo + 1);
  const columns = shown.map((nodes, step) =>
    nodes.filter(({candidate}) => candidate.fate !== "dropped" || step === upTo),
  );
  const height = TOP + ROW * Math.max(...columns.map((nodes) => nodes.length), 1) + 8;
  const scene = new Scene(COLUMN * (shown.length + 0.75), height, about.title);
  scene.rect(0, 0, scene.width, height, {fill: colours.panel});
  const boxes = new Map();
  columns.forEach((nodes, step) =>
    nodes.forEach((node, row) => {
      boxes.set(node, {node, x: 60 + COLUMN * step, y: TOP + ROW * row, ...BOX});
    }),
  );
  const root = {x: 8, y: TOP, width: 34, height: BOX.height};
  for (const [node, box] of boxes)
    drawEdge(scene, boxes.get(node.parent) ?? root, box, styleOfEdge(node, path, colours));
  scene.text(root.x, root.y + 14, about.start, {size: 13, fill: colours.soft});
  for (const box of boxes.values()) drawNode(scene, box, path.has(box.node), about, colours);
  shown.forEach((_, step) =>
    scene.text(60 + COLUMN * step, 10, about.step(step + 1), {
      size: 11,
      fill: step === upTo ? colours.ink : colours.soft,
      weight: step === upTo ? 600 : 400,
    }),
  );
  return {scene, boxes: [...boxes.values()]};
}

function drawEdge(scene, from, to, style) {
  const [x1, y1, x2, y2] = [from.x + from.width + 2, from.y + from.height / 2, to.x - 2, to.y + to.height / 2];
  const bend = (x2 - x1) / 2;
  scene.path(`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, style);
}

function styleOfEdge(node, path, colours) {
  if (path.has(node)) return {stroke: colours.mark, thick: 2.5};
  return {stroke: colours.soft, thick: 1, opacity: node.candidate.fate === "dropped" ? 0.25 : 0.5};
}

function drawNode(scene, {node, x, y, width, height}, onPath, {label, number}, colours) {
  const {fate, score} = node.candidate;
  const dropped = fate === "dropped";
  const ended = fate === "ended";
  if (!dropped) {
    const stroke = onPath ? colours.mark : ended ? colours.ink : colours.line;
    scene.rect(x, y, width, height, {
      fill: colours.paper,
      stroke,
      thick: onPath || ended ? 2 : 1,
      radius: ended ? 14 : 5,
    });
  }
  const style = {size: 13, weight: onPath ? 600 : 400};
  const text = shortened(label(node), width - 44, style);
  const fill = dropped ? colours.soft : colours.ink;
  scene.text(x + 8, y + height / 2, text, {...style, fill});
  if (dropped) {
    const end = x + 8 + textWidth(text, style);
    scene.path(`M${x + 6} ${y + height / 2}L${end + 2} ${y + height / 2}`, {stroke: colours.soft, thick: 1});
  }
  scene.text(x + width - 6, y + height / 2, number(score), {size: 11, anchor: "end", fill: colours.soft});
}
