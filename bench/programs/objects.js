// Objects, strings, maps, JSON and buffers of a JavaScript engine. Buffers and the engine's own structures come from malloc; objects do not.
function tree(depth) {
  return depth === 0 ? null : { left: tree(depth - 1), right: tree(depth - 1) };
}
function nodes(node) {
  return node === null ? 0 : 1 + nodes(node.left) + nodes(node.right);
}
let count = 0;
for (let i = 0; i < 12; i++) count += nodes(tree(14));

const map = new Map();
for (let i = 0; i < 300000; i++) map.set(`key ${i}`, { i, text: String(i).repeat(3) });
const again = JSON.parse(JSON.stringify([...map.entries()].slice(0, 50000)));

const buffers = [];
let bytes = 0;
for (let i = 0; i < 40000; i++) {
  const buffer = Buffer.alloc(8192 + (i % 100) * 100, i % 256);
  bytes += buffer[8191] === i % 256 ? 25 : 0;
  if (i % 3 === 0) buffers.push(buffer);
  if (buffers.length > 2000) buffers.splice(0, 1000);
}
console.log(count, map.size, bytes, again.length === 50000 ? "ok" : "wrong");
