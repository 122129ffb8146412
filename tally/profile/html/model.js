// What the page shows: a tree of frames, which samples there are, and which of
// them are chosen. A choice is a count for each node of the tree.

const data = JSON.parse(document.getElementById("data").textContent);
const get = (id) => document.getElementById(id);
const ARRAYS = { Uint8Array, Uint16Array, Uint32Array, Float64Array };
const MODES = 4; // of data.kinds; the last one is that of processes

function decode(packed) {
	const text = atob(packed.data);
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return new ARRAYS[packed.type](bytes.buffer);
}

const places = data.places.map(([name, kind, image, source], index) =>
	({ name, kind, image, source, index }));
const tree = {
	parents: decode(data.parents),
	frames: decode(data.frames),
	own: decode(data.own),
};
const nodes = tree.parents.length;
const samples = {
	starts: decode(data.samples.starts),
	node: decode(data.samples.node),
	who: decode(data.samples.who),
	count: decode(data.samples.count),
};
const bins = data.samples.bins; // after them: what has no time
const binSeconds = data.samples.width / 1e9;
const harts = Array.from(new Set(data.whos.map(([hart]) => hart)))
	.filter((hart) => hart !== null).sort((a, b) => a - b);
const exact = data.unit !== "sample";
// Of fewer samples than SURE_MIN an interval says too little, as a row may be shown only
// since it has more than it should; and nothing where a machine ran freely, as there the
// host's time decides.
const SURE_MIN = 10;
const sure = !exact && !data.about.free;

// Siblings are in a row, and nodes stand in the order of their parents.
const firstChild = new Uint32Array(nodes + 1).fill(nodes);
for (let node = nodes - 1; node > 0; node--)
	firstChild[tree.parents[node]] = node;
for (let node = nodes - 1; node >= 0; node--)
	firstChild[node] = Math.min(firstChild[node], firstChild[node + 1]);
const modeOf = Uint8Array.from(tree.frames, (frame) => places[frame].kind);

// --- The choice -----------------------------------------------------------

const choice = {
	span: null, // of bins: [from, to)
	hart: null,
	program: null, // processes with this name
	process: null, // or one of them, by its index
	hidden: new Set(), // modes
};
const chosen = {
	own: new Float64Array(nodes), // of each node
	total: new Float64Array(nodes), // with its callees
	modes: new Float64Array(MODES), // of those that are hidden, too
};

function isChosenWho([hart, process]) {
	if (choice.hart !== null && hart !== choice.hart)
		return false;
	if (choice.process !== null)
		return process === choice.process;
	return choice.program === null || (process >= 0 &&
		data.processes[process].name === choice.program);
}

// The samples of a span, [from, to) of their arrays.
function range(span) {
	return span ? [samples.starts[span[0]], samples.starts[span[1]]] :
		[0, samples.node.length];
}

function choose() {
	const { own, total, modes } = chosen;
	const wanted = data.whos.map(isChosenWho);
	const [from, to] = range(choice.span);
	own.fill(0);
	modes.fill(0);
	for (let i = from; i < to; i++) {
		if (!wanted[samples.who[i]])
			continue;
		const node = samples.node[i];
		const mode = modeOf[node];
		modes[mode] += samples.count[i];
		if (!choice.hidden.has(mode))
			own[node] += samples.count[i];
	}
	total.set(own);
	for (let node = nodes - 1; node > 0; node--)
		total[tree.parents[node]] += total[node];
}

// Of each function, as often as it was somewhere in a stack, and its own.
function byPlace() {
	const own = new Float64Array(places.length);
	const total = new Float64Array(places.length);
	const above = new Uint32Array(places.length);
	const pending = [0];
	while (pending.length) {
		const node = pending.pop();
		if (node < 0) {
			above[tree.frames[~node]]--;
			continue;
		}
		const place = tree.frames[node];
		own[place] += chosen.own[node];
		if (above[place]++ === 0)
			total[place] += chosen.total[node];
		pending.push(~node);
		for (let c = firstChild[node]; c < firstChild[node + 1]; c++)
			if (chosen.total[c])
				pending.push(c);
	}
	return { own, total };
}

// --- Trees to look at: who was called, and who called ------------------------

class Callees {
	constructor(node = 0, parent = null) {
		this.node = node;
		this.parent = parent;
		this.place = places[tree.frames[node]];
		this.total = chosen.total[node];
		this.own = chosen.own[node];
	}

	get children() {
		const found = [];
		for (let c = firstChild[this.node]; c < firstChild[this.node + 1]; c++)
			if (chosen.total[c])
				found.push(new Callees(c, this));
		return found;
	}

	// The nodes where its samples end, with their counts.
	*ends() {
		const pending = [this.node];
		while (pending.length) {
			const node = pending.pop();
			if (chosen.own[node])
				yield [node, chosen.own[node]];
			for (let c = firstChild[node]; c < firstChild[node + 1]; c++)
				if (chosen.total[c])
					pending.push(c);
		}
	}
}

// Each of them is some stacks, from the frames where they end to this one.
class Callers {
	constructor(place = places[0], parent = null) {
		this.place = place;
		this.parent = parent;
		this.total = 0;
		this.stacks = []; // node where one ends, node of this frame
		if (parent === null)
			for (let node = 0; node < nodes; node++)
				if (chosen.own[node])
					this.add(node, -1);
	}

	add(end, at) {
		this.stacks.push([end, at]);
		this.total += chosen.own[end];
	}

	get own() {
		return this.total - this.children.reduce((n, c) => n + c.total, 0);
	}

	get children() {
		const found = new Map();
		for (const [end, at] of this.stacks) {
			const next = at < 0 ? end : tree.parents[at];
			if (next === 0)
				continue;
			const frame = tree.frames[next];
			if (!found.has(frame))
				found.set(frame, new Callers(places[frame], this));
			found.get(frame).add(end, next);
		}
		return Array.from(found.values()).sort((a, b) =>
			b.total - a.total || a.place.index - b.place.index);
	}

	*ends() {
		for (const [end] of this.stacks)
			yield [end, chosen.own[end]];
	}
}

// --- Search ---------------------------------------------------------------

// Which names match, or null: all; which places; which nodes.
const search = { test: null, matches: null, stacks: null };

// A word, or a regular expression; case doesn't matter.
function matcher(words) {
	try {
		const pattern = new RegExp(words, "i");
		return (name) => pattern.test(name);
	} catch (error) {
		const plain = words.toLowerCase();
		return (name) => name.toLowerCase().includes(plain);
	}
}

function find(words) {
	search.matches = search.test = null;
	if (!words)
		return;
	search.test = matcher(words);
	search.matches = places.map((place) => place.index > 0 &&
		search.test(place.name));
	search.stacks = new Uint8Array(nodes);
	for (let node = 1; node < nodes; node++)
		search.stacks[node] = search.stacks[tree.parents[node]] ||
			search.matches[tree.frames[node]];
}

// How many of an item's samples have a frame that matches.
function matched(item) {
	let found = 0;
	for (const [node, count] of item.ends())
		if (search.stacks[node])
			found += count;
	return found;
}

// --- Words ----------------------------------------------------------------

function plural(count, word) {
	const end = count === 1 ? "" : word.endsWith("s") ? "es" : "s";
	return `${count.toLocaleString("en")} ${word}${end}`;
}

function percent(share) {
	return (100 * share).toFixed(share >= 0.0995 ? 1 : 2) + "\u202f%";
}

// Wilson's interval of a share: so far 95 % of such samples would be right.
function interval(count, of) {
	const z = 1.959964;
	const share = count / of;
	const middle = (share + z * z / (2 * of)) / (1 + z * z / of);
	const half = z / (1 + z * z / of) *
		Math.sqrt(share * (1 - share) / of + z * z / (4 * of * of));
	return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

function intervalText(count, of) {
	if (!sure || count < SURE_MIN)
		return "";
	const [low, high] = interval(count, of);
	const digits = high - low < 0.002 ? 2 : 1;
	return (100 * low).toFixed(digits) + "\u2013" + (100 * high).toFixed(digits);
}

function share(count, of) {
	if (!of)
		return "0\u202f%";
	const between = intervalText(count, of);
	return percent(count / of) + (between && ` (${between})`);
}

function seconds(value) {
	if (value === 0)
		return "0 s";
	const [scale, unit] = value < 1e-3 ? [1e6, "\u00b5s"] :
		value < 1 ? [1e3, "ms"] : [1, "s"];
	return Number((value * scale).toPrecision(4)) + "\u202f" + unit;
}

function spanText([from, to]) {
	return seconds(from * binSeconds) + " \u2013 " + seconds(to * binSeconds);
}

function element(name, className, ...inner) {
	const made = document.createElement(name);
	if (className)
		made.className = className;
	made.append(...inner);
	return made;
}
