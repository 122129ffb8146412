// When: a strip of everything, and rows for harts, programs and processes. A
// drag selects a span of time, a click on a row what the row is of.

const LANE = 26; // pixels
const ROWS_MOST = 200; // processes of a program that are shown
const COLUMN = 2; // pixels of a column, at least,
const EXPECTED = 6; // and samples that a busy hart has in it

let view = [0, bins]; // what the rows show of the time
const unfolded = new Set(); // programs whose processes are shown

// Counts of rows by column and mode. lanesOf gives a who's rows.
function series(lanesOf, lanes, [from, to], columns) {
	const found = Array.from({ length: lanes }, () =>
		new Float64Array(columns * MODES));
	const wanted = data.whos.map(lanesOf);
	for (let bin = from; bin < to; bin++) {
		const column = Math.floor((bin - from) * columns / (to - from));
		for (let i = samples.starts[bin]; i < samples.starts[bin + 1]; i++) {
			const mode = modeOf[samples.node[i]];
			if (choice.hidden.has(mode))
				continue;
			for (const lane of wanted[samples.who[i]])
				found[lane][column * MODES + mode] += samples.count[i];
		}
	}
	return found;
}

function columnsIn(width, [from, to]) {
	const busy = data.about.rate * binSeconds * (to - from);
	return Math.max(1, Math.min(Math.floor(width / COLUMN), to - from,
		Math.max(40, Math.floor(busy / EXPECTED))));
}

// Modes on top of each other; full height is what so many busy harts have.
function drawLane(canvas, counts, busy) {
	const { clientWidth: width, clientHeight: height } = canvas;
	const dense = window.devicePixelRatio || 1;
	canvas.width = width * dense;
	canvas.height = height * dense;
	const pen = canvas.getContext("2d");
	pen.scale(dense, dense);
	const style = getComputedStyle(document.documentElement);
	const colours = data.kinds.slice(0, MODES).map((kind) =>
		style.getPropertyValue("--strong-" + kind));
	const columns = counts.length / MODES;
	let most = busy;
	for (let c = 0; c < columns; c++)
		most = Math.max(most, counts.subarray(c * MODES, (c + 1) * MODES)
			.reduce((sum, n) => sum + n, 0));
	for (let c = 0; c < columns; c++) {
		const left = Math.round(c * width / columns);
		const right = Math.round((c + 1) * width / columns);
		let y = height;
		for (let mode = 0; mode < MODES; mode++) {
			const tall = counts[c * MODES + mode] / most * height;
			pen.fillStyle = colours[mode];
			pen.fillRect(left, y - tall, right - left, tall);
			y -= tall;
		}
	}
}

function drawAxis(axis, [from, to]) {
	const width = axis.clientWidth;
	const length = (to - from) * binSeconds;
	const rough = length / Math.max(2, width / 110);
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
	axis.replaceChildren();
	const start = from * binSeconds;
	for (let i = Math.ceil(start / step); i * step <= start + length; i++) {
		const tick = element("span", "", seconds(i * step));
		const left = (i * step - start) / length;
		tick.style.left = 100 * left + "%";
		if (left * width > width - 50)
			tick.className = "last";
		axis.append(tick);
	}
}

// The selected span, in something that shows [from, to).
function placeSpan(mark, [from, to]) {
	const span = choice.span;
	mark.hidden = !span || span[1] <= from || span[0] >= to;
	if (mark.hidden)
		return;
	const low = Math.max(span[0], from);
	const high = Math.min(span[1], to);
	mark.style.left = 100 * (low - from) / (to - from) + "%";
	mark.style.width = 100 * (high - low) / (to - from) + "%";
}

function drawStrip() {
	get("overview").hidden = !bins;
	if (!bins)
		return;
	const whole = [0, bins];
	const canvas = get("strip").querySelector("canvas");
	const columns = columnsIn(canvas.clientWidth, whole);
	const mine = data.whos.map(isChosenWho);
	const lane = (who, i) => mine[i] ? [0] : [];
	const [counts] = series(lane, 1, whole, columns);
	const each = data.about.rate * binSeconds * bins / columns;
	drawLane(canvas, counts, each * (choice.hart === null ? harts.length || 1 : 1));
	drawAxis(get("overview").querySelector(".axis"), whole);
	placeSpan(get("strip").querySelector(".span"), whole);
}

// --- Rows ------------------------------------------------------------------

// What the rows are of: label, who, and what a click on it chooses.
function rowsShown() {
	const rows = harts.map((hart) => ({
		label: `hart ${hart}`, has: (who) => who[0] === hart,
		choice: { hart }, group: "hart",
	}));
	for (const program of programs()) {
		const several = program.processes.length > 1;
		const one = data.processes[program.processes[0]];
		rows.push({
			label: program.name + (several ? "" : one.pid ? ` (${one.pid})` : ""),
			note: several ? plural(program.processes.length, "process") : "",
			has: (who) => program.set.has(who[1]), several,
			choice: { program: program.name }, program: program.name,
			life: several ? null : one,
		});
		if (!several || !unfolded.has(program.name))
			continue;
		for (const index of program.processes.slice(0, ROWS_MOST)) {
			const process = data.processes[index];
			rows.push({
				label: `${process.name} (${process.pid})`, inner: true,
				has: (who) => who[1] === index, choice: { process: index },
				life: process,
			});
		}
		const more = program.processes.length - ROWS_MOST;
		if (more > 0)
			rows.push({ label: `and ${more} more`, inner: true, has: () => false });
	}
	return rows;
}

// Processes by program; what has the most samples comes first.
const programs = (() => {
	let found = null;
	return () => {
		if (found)
			return found;
		const counts = new Float64Array(data.processes.length);
		for (let i = 0; i < samples.node.length; i++) {
			const [, process] = data.whos[samples.who[i]];
			if (process >= 0)
				counts[process] += samples.count[i];
		}
		const byName = new Map();
		data.processes.forEach((process, index) => {
			if (!byName.has(process.name))
				byName.set(process.name, { name: process.name, processes: [], count: 0 });
			byName.get(process.name).processes.push(index);
			byName.get(process.name).count += counts[index];
		});
		found = Array.from(byName.values()).sort((a, b) => b.count - a.count);
		for (const program of found)
			program.set = new Set(program.processes);
		return found;
	};
})();

function isChosenRow(row) {
	return row.choice && Object.entries(row.choice).every(([what, value]) =>
		choice[what] === value);
}

function toggleRow(row) {
	const was = isChosenRow(row);
	if ("hart" in row.choice)
		choice.hart = was ? null : row.choice.hart;
	else
		Object.assign(choice, { program: null, process: null },
			was ? {} : row.choice);
	changed();
}

function drawRows() {
	const home = get("timeline").querySelector(".lanes");
	if (!bins) {
		home.replaceChildren(element("p", "empty", exact ?
			"There is no timeline: instructions are counted without times." :
			`There is no timeline: a ${data.about.source} like this one does ` +
			"not tell when its samples were taken."));
		return;
	}
	const top = home.scrollTop;
	const rows = rowsShown();
	const lanes = element("div", "rows");
	const made = rows.map((row) => makeRow(row));
	lanes.append(element("div", "ruler", element("div", "axis")), ...made,
		element("div", "over", element("div", "span")));
	home.replaceChildren(lanes);
	const canvases = made.map((row) => row.querySelector("canvas"));
	const columns = columnsIn(canvases[0].clientWidth, view);
	const of = data.whos.map((who) =>
		rows.map((row, i) => row.has(who) ? i : -1).filter((i) => i >= 0));
	const counts = series((who, i) => of[i], rows.length, view, columns);
	const each = data.about.rate * binSeconds * (view[1] - view[0]) / columns;
	rows.forEach((row, i) => drawLane(canvases[i], counts[i], each));
	drawAxis(lanes.querySelector(".axis"), view);
	placeSpan(lanes.querySelector(".span"), view);
	home.scrollTop = top;
}

function makeRow(row) {
	const label = element("button", "", element("span", "", row.label));
	label.type = "button";
	label.title = row.label;
	label.disabled = !row.choice;
	label.setAttribute("aria-pressed", Boolean(isChosenRow(row)));
	label.addEventListener("click", () => toggleRow(row));
	const head = element("div", "label", label);
	if (row.several) {
		const fold = element("button", "fold",
			unfolded.has(row.program) ? "\u25be" : "\u25b8");
		fold.type = "button";
		fold.setAttribute("aria-expanded", unfolded.has(row.program));
		fold.setAttribute("aria-label", `Processes of ${row.program}`);
		fold.addEventListener("click", () => {
			if (!unfolded.delete(row.program))
				unfolded.add(row.program);
			drawRows();
		});
		head.prepend(fold);
		label.append(element("small", "", row.note));
	}
	const lane = element("div", "lane", element("canvas"));
	if (row.life && row.life.begin !== null)
		lane.append(lifeLine(row.life));
	if (row.choice)
		selectable(lane, () => view, () => toggleRow(row));
	const classes = ["row", row.group, row.inner && "inner"];
	return element("div", classes.filter(Boolean).join(" "), head, lane);
}

// From a process's beginning to its end.
function lifeLine(process) {
	const line = element("div", "life");
	const at = (time) => Math.min(1, Math.max(0,
		(time / data.samples.width - view[0]) / (view[1] - view[0])));
	const begin = at(process.begin);
	const end = process.end === null ? 1 : at(process.end);
	line.style.left = 100 * begin + "%";
	line.style.width = 100 * (end - begin) + "%";
	return line;
}

// --- Selecting --------------------------------------------------------------

function setSpan(from, to) {
	const low = Math.max(0, Math.min(bins - 1, Math.round(from)));
	choice.span = [low, Math.max(low + 1, Math.min(bins, Math.round(to)))];
	changed();
}

// A drag over a lane selects a span; without one it is a click.
function selectable(lane, shown, click) {
	const binAt = (event) => {
		const box = lane.getBoundingClientRect();
		const [from, to] = shown();
		const share = (event.clientX - box.left) / box.width;
		return from + Math.min(1, Math.max(0, share)) * (to - from);
	};
	const marks = () => document.querySelectorAll(".span");
	lane.addEventListener("pointerdown", (event) => {
		if (event.button)
			return;
		const begin = binAt(event);
		const x = event.clientX;
		let drag = false;
		const before = choice.span;
		const move = (next) => {
			drag = drag || Math.abs(next.clientX - x) > 3;
			if (!drag)
				return;
			const ends = [begin, binAt(next)].sort((a, b) => a - b);
			choice.span = [Math.floor(ends[0]), Math.max(Math.ceil(ends[1]),
				Math.floor(ends[0]) + 1)];
			marks().forEach((mark) => placeSpan(mark,
				mark.closest("#strip") ? [0, bins] : view));
		};
		const up = (last) => {
			window.removeEventListener("pointermove", move);
			window.removeEventListener("pointerup", up);
			window.removeEventListener("pointercancel", up);
			const span = choice.span;
			choice.span = before;
			if (drag)
				setSpan(...span);
			else if (last.type === "pointerup")
				click();
		};
		window.addEventListener("pointermove", move);
		window.addEventListener("pointerup", up);
		window.addEventListener("pointercancel", up);
	});
}

function clearSpan() {
	choice.span = null;
	changed();
}

function zoomTime() {
	view = choice.span && (choice.span[0] !== view[0] || choice.span[1] !== view[1]) ?
		choice.span.slice() : [0, bins];
	drawRows();
}

function onStripKey(event) {
	const sign = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
	if (!sign || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	const step = Math.max(1, Math.round(bins / 50));
	if (!choice.span)
		return setSpan(0, step * 2);
	const [from, to] = choice.span;
	if (event.shiftKey)
		return setSpan(from, Math.max(from + 1, to + sign * step));
	const by = Math.max(-from, Math.min(bins - to, sign * step));
	setSpan(from + by, to + by);
}

function startTimeline() {
	selectable(get("strip"), () => [0, bins], clearSpan);
	get("strip").addEventListener("keydown", onStripKey);
}
