// A flame graph or, upside down, an icicle graph: a frame is as wide as its
// samples are many, and its callees, or its callers, are on it.

const ROW = 21; // pixels
const NARROW = 1.2; // what is narrower is not drawn
const NAMED = 44; // what is narrower has only a name that fits
const LETTER = 7.5;
const MOST_FRAMES = 5000;

function hue(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++)
		hash = (hash * 31 + name.charCodeAt(i)) | 0;
	return (hash >>> 0) % 9 - 4;
}

class Graph {
	constructor(home, root, up) {
		this.home = home;
		this.makeRoot = root; // a function of the chosen samples
		this.up = up;
		this.path = []; // places from the root to the frame that fills the width
		this.boxes = new Map(); // elements: what they show
		home.addEventListener("click", (event) => this.onClick(event));
		home.addEventListener("keydown", (event) => this.onKey(event));
		home.addEventListener("mousemove", (event) => this.onMove(event));
		home.addEventListener("mouseleave", hideTip);
		home.addEventListener("focusin", (event) => this.onFocus(event));
	}

	// The frame that the path leads to, as far as there is one now.
	follow() {
		let item = this.makeRoot();
		for (const index of this.path) {
			const next = item.children.find((c) => c.place.index === index);
			if (!next)
				break;
			item = next;
		}
		return item;
	}

	render() {
		this.root = this.makeRoot();
		this.zoomed = this.follow();
		const style = getComputedStyle(this.home);
		const width = this.home.offsetWidth - 2 * parseFloat(style.paddingLeft);
		const all = this.layout(width);
		const rows = all.reduce((n, box) => Math.max(n, box.depth + 1), 0);
		const inner = element("div", "frames");
		inner.style.height = rows * ROW + "px";
		this.boxes.clear();
		for (const box of all)
			inner.append(this.draw(box, rows));
		this.home.replaceChildren(inner);
		if (!this.zoomed.total)
			inner.append(element("p", "empty", "No samples match the selection."));
		const first = Array.from(this.boxes.keys())
			.find((e) => this.boxes.get(e).item === this.zoomed);
		if (first)
			first.tabIndex = 0;
	}

	// What is drawn, from the left, callers before callees.
	layout(width) {
		const lineage = [];
		for (let item = this.zoomed; item; item = item.parent)
			lineage.unshift(item);
		const found = lineage.map((item, depth) => ({
			item, depth, x: 0, width, above: item !== this.zoomed,
		}));
		const scale = width / (this.zoomed.total || 1);
		const pending = [found[found.length - 1]];
		while (pending.length && found.length < MOST_FRAMES) {
			const box = pending.shift();
			let x = box.x;
			for (const item of box.item.children) {
				const inner = {
					item, depth: box.depth + 1, x, width: item.total * scale,
				};
				x += inner.width;
				if (inner.width >= NARROW) {
					found.push(inner);
					pending.push(inner);
				}
			}
		}
		return found;
	}

	draw(box, rows) {
		const { item } = box;
		const made = element("div", "frame " + data.kinds[item.place.kind]);
		const row = this.up ? rows - 1 - box.depth : box.depth;
		made.style.left = box.x.toFixed(2) + "px";
		made.style.top = row * ROW + "px";
		made.style.width = Math.max(box.width - 1, 1).toFixed(2) + "px";
		made.style.setProperty("--vary", hue(item.place.name));
		const { length } = item.place.name;
		if (box.width >= Math.min(NAMED, 10 + length * LETTER))
			made.textContent = item.place.name;
		made.classList.toggle("above", Boolean(box.above));
		made.classList.toggle("match",
			Boolean(search.matches && search.matches[item.place.index]));
		made.tabIndex = -1;
		made.setAttribute("role", "treeitem");
		made.setAttribute("aria-level", box.depth + 1);
		made.setAttribute("aria-label", `${item.place.name}, ` +
			`${plural(item.total, data.unit)}, ` +
			percent(item.total / (this.root.total || 1)));
		this.boxes.set(made, box);
		return made;
	}

	zoom(item) {
		this.path = [];
		for (let i = item; i.parent; i = i.parent)
			this.path.unshift(i.place.index);
		this.render();
		const mine = this.home.querySelector('[tabindex="0"]');
		if (mine) {
			mine.focus({ preventScroll: true });
			mine.scrollIntoView({ block: "nearest" });
		}
		showMatched();
		showChoice();
	}

	reset() {
		this.path = [];
		this.render();
	}

	boxOf(event) {
		return this.boxes.get(event.target.closest(".frame"));
	}

	onClick(event) {
		const box = this.boxOf(event);
		if (box) {
			hideTip();
			this.zoom(box.item);
		}
	}

	onMove(event) {
		const box = this.boxOf(event);
		if (!box)
			return hideTip();
		showTip(event, box.item.place.name, this.describe(box.item));
	}

	onFocus(event) {
		const box = this.boxOf(event);
		if (box)
			showDetails(box.item.place, this.describe(box.item));
	}

	describe(item) {
		const lines = [[plural(item.total, data.unit),
			share(item.total, this.root.total)]];
		if (this.zoomed.parent && item.total <= this.zoomed.total)
			lines.push(["of " + this.zoomed.place.name,
				percent(item.total / this.zoomed.total)]);
		if (this.up && item.parent)
			lines.push(["itself " + plural(item.own, data.unit),
				share(item.own, this.root.total)]);
		if (item.place.source)
			lines.push([item.place.image, item.place.source]);
		return lines;
	}

	// Towards the callees or callers, back, or to a frame at the side.
	onKey(event) {
		const element = event.target.closest(".frame");
		const box = this.boxes.get(element);
		if (!box || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const [inward, outward] = this.up ? ["ArrowUp", "ArrowDown"] :
			["ArrowDown", "ArrowUp"];
		const boxes = Array.from(this.boxes.entries());
		const near = (test) => boxes.filter(([, b]) => test(b));
		let target;
		if (event.key === inward)
			[target] = near((b) => b.item.parent === box.item);
		else if (event.key === outward)
			[target] = near((b) => b.item === box.item.parent);
		else if (event.key === "ArrowRight")
			[target] = near((b) => b.depth === box.depth && b.x > box.x);
		else if (event.key === "ArrowLeft")
			target = near((b) => b.depth === box.depth && b.x < box.x).pop();
		else if (event.key === "Enter" || event.key === " ")
			this.zoom(box.item);
		else if (event.key === "Backspace")
			this.zoom(this.zoomed.parent || this.zoomed);
		else
			return;
		event.preventDefault();
		if (target) {
			element.tabIndex = -1;
			target[0].tabIndex = 0;
			target[0].focus();
		}
	}
}

// --- The tip at the pointer, and the details below ----------------------------

function rowsOf(lines) {
	return lines.map(([what, value]) => element("div", "",
		element("span", "", what), element("b", "", value)));
}

function showTip(event, title, lines) {
	const tip = get("tip");
	tip.replaceChildren(element("strong", "", title), ...rowsOf(lines));
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
	const below = event.clientY + 18;
	const fits = below + box.height < innerHeight - 8;
	const y = fits ? below : event.clientY - box.height - 10;
	tip.style.left = Math.max(8, x) + "px";
	tip.style.top = Math.max(8, y) + "px";
}

function hideTip() {
	get("tip").hidden = true;
}

function showDetails(place, lines) {
	get("details").replaceChildren(
		element("strong", "", place ? place.name : ""), ...rowsOf(lines));
	const known = place && data.functions.findIndex((f) =>
		f.name === place.name && f.image === place.image);
	get("open").hidden = !place || known < 0;
	get("open").onclick = () => openSource(known);
}
