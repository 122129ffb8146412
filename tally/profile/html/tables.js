// Functions by their samples, and what is known of the samples themselves.

const FUNCTIONS_MOST = 300;
let sortedBy = "own";

function table(caption, heads, rows) {
	const head = element("tr", "", ...heads.map((h) => {
		const cell = element("th", "", h);
		cell.scope = "col";
		return cell;
	}));
	const made = element("table", "", element("caption", "", caption),
		element("thead", "", head), element("tbody", "", ...rows));
	return element("div", "scroll", made);
}

function cells(...texts) {
	return element("tr", "", ...texts.map((text) => element("td", "", text)));
}

function dot(kind) {
	const made = element("i", "dot " + data.kinds[kind]);
	made.title = data.kinds[kind];
	return made;
}

// A share as a bar, its number, and how sure it is.
function shareCell(count, of) {
	const bar = element("i", "bar");
	bar.style.width = (of ? 100 * count / of : 0) + "%";
	return element("div", "share", element("span", "track", bar),
		element("b", "", of ? percent(count / of) : ""),
		element("span", "sure", intervalText(count, of)));
}

// --- Functions --------------------------------------------------------------

function sorter(what, label) {
	const button = element("button", "", label);
	button.type = "button";
	button.setAttribute("aria-pressed", sortedBy === what);
	button.addEventListener("click", () => {
		sortedBy = what;
		drawFunctions();
	});
	return button;
}

function drawFunctions() {
	const counts = byPlace();
	const order = places.filter((place) => place.index > 0 &&
		counts.total[place.index] &&
		(!search.matches || search.matches[place.index]));
	order.sort(sortedBy === "name" ?
		(a, b) => a.name.localeCompare(b.name) :
		(a, b) => counts[sortedBy][b.index] - counts[sortedBy][a.index]);
	const all = chosen.total[0];
	const rows = order.slice(0, FUNCTIONS_MOST).map((place) => {
		const row = cells("", place.image,
			counts.own[place.index].toLocaleString("en"),
			shareCell(counts.own[place.index], all),
			counts.total[place.index].toLocaleString("en"),
			shareCell(counts.total[place.index], all));
		const name = element("button", "function", place.name);
		name.type = "button";
		name.title = place.source || place.name;
		name.addEventListener("click", () => pick(place));
		row.firstChild.append(dot(place.kind), name);
		return row;
	});
	const left = order.length - rows.length;
	const caption = plural(order.length, "frame") +
		(search.matches ? " that match" : "") +
		(left > 0 ? `, the first ${FUNCTIONS_MOST} of them` : "");
	get("functions").replaceChildren(table(caption, [
		sorter("name", "Function"), "Program", sorter("own", "Itself"),
		sure ? "Share, 95\u202f% interval" : "Share",
		sorter("total", "With callees"),
		sure ? "Share, 95\u202f% interval" : "Share",
	], rows));
}

// A click on a function: its text, or else where it is in the flame graph.
function pick(place) {
	const known = data.functions.findIndex((f) =>
		f.name === place.name && f.image === place.image);
	if (known >= 0)
		return openSource(known);
	get("search").value = "^" + place.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
	onSearch();
	show("flame");
}

// --- Statistics --------------------------------------------------------------

function facts() {
	const about = data.about;
	const date = (time) => new Date(time * 1000).toISOString()
		.replace("T", " ").slice(0, 19) + " UTC";
	const untimed = samples.starts[bins + 1] - samples.starts[bins];
	const found = [
		["Recorded from", about.source],
		["Begun", about.begin && date(about.begin)],
		["Ended", about.end && date(about.end)],
		["Time shown", bins && seconds(bins * binSeconds)],
		["Time resolution", bins && seconds(binSeconds)],
		[exact ? "Instructions" : "Samples", about.total.toLocaleString("en")],
		["Rate", !exact && `${about.rate.toLocaleString("en")} Hz on each hart` +
			(about.hz ? "" : ", which is assumed")],
		["Lost", !exact && about.lost.toLocaleString("en") +
			(about.lostMore ? " or more" : "")],
		["Skipped", !exact && about.skipped.toLocaleString("en")],
		["Without a time", bins && untimed && countOf(samples.starts[bins],
			samples.starts[bins + 1]).toLocaleString("en")],
	];
	return found.filter(([, value]) => value);
}

function countOf(from, to) {
	let found = 0;
	for (let i = from; i < to; i++)
		found += samples.count[i];
	return found;
}

// Counts of the chosen samples by hart and mode, and by program.
function tallies() {
	const byHart = new Map();
	const byProgram = new Map();
	const [from, to] = range(choice.span);
	const wanted = data.whos.map(isChosenWho);
	const add = (map, key, mode, count) => {
		if (!map.has(key))
			map.set(key, new Float64Array(MODES));
		map.get(key)[mode] += count;
	};
	for (let i = from; i < to; i++) {
		const mode = modeOf[samples.node[i]];
		if (!wanted[samples.who[i]] || choice.hidden.has(mode))
			continue;
		const [hart, process] = data.whos[samples.who[i]];
		add(byHart, hart, mode, samples.count[i]);
		if (process >= 0)
			add(byProgram, data.processes[process].name, mode, samples.count[i]);
	}
	return { byHart, byProgram };
}

function sum(counts) {
	return counts.reduce((total, n) => total + n, 0);
}

function modesTable() {
	const all = chosen.total[0];
	const used = data.kinds.slice(0, MODES).map((kind, mode) => [kind, mode])
		.filter(([, mode]) => chosen.modes[mode] && !choice.hidden.has(mode));
	return table("By mode", ["Mode", exact ? "Instructions" : "Samples",
		sure ? "Share, 95\u202f% interval" : "Share"],
	used.map(([kind, mode]) => {
		const row = cells(kind, chosen.modes[mode].toLocaleString("en"),
			shareCell(chosen.modes[mode], all));
		row.firstChild.prepend(dot(mode));
		return row;
	}));
}

function hartsTable(byHart) {
	const kinds = data.kinds.slice(0, MODES);
	const rows = Array.from(byHart).sort(([a], [b]) => a - b);
	return table("By hart", ["Hart", exact ? "Instructions" : "Samples", ...kinds],
		rows.map(([hart, counts]) => cells(hart === null ? "unknown" : String(hart),
			sum(counts).toLocaleString("en"),
			...kinds.map((kind, mode) => shareCell(counts[mode], sum(counts))))));
}

function programsTable(byProgram) {
	const all = chosen.total[0];
	const rows = Array.from(byProgram)
		.sort(([, a], [, b]) => sum(b) - sum(a)).slice(0, FUNCTIONS_MOST);
	const sizes = new Map(programs().map((p) => [p.name, p.processes.length]));
	return table("By program", ["Program", "Processes",
		exact ? "Instructions" : "Samples",
		sure ? "Share, 95\u202f% interval" : "Share", "in user mode"],
	rows.map(([name, counts]) => cells(name, String(sizes.get(name)),
		sum(counts).toLocaleString("en"), shareCell(sum(counts), all),
		percent(counts[0] / (sum(counts) || 1)))));
}

// Of a run that was both counted and sampled: how good the samples are.
function besideTable({ rows, missing }) {
	const outside = rows.filter((row) => row[7] && !row[8]).length;
	return table(`Sampled beside exact: ${outside} of ${rows.length} outside of the ` +
		"interval; expect about 1 in 20 by chance" + (missing && `; ${missing}`),
	["Function", "Program", "Samples", "Share", "95\u202f% interval", "Exact share",
		"Inside"],
	rows.map(([name, where, count, part, low, high, exactly, enough, inside]) =>
		cells(name, where, count.toLocaleString("en"), percent(part),
			enough ? `${percent(low)} to ${percent(high)}` : "", percent(exactly),
			!enough ? "" : inside ? "yes" : "no")));
}

function drawStatistics() {
	const { byHart, byProgram } = tallies();
	const list = element("dl", "facts");
	for (const [what, value] of facts())
		list.append(element("div", "", element("dt", "", what),
			element("dd", "", value)));
	const remarks = [...data.about.warnings, ...data.about.notes,
		...(data.samples.apart ? [] : ["The recording has too many different samples " +
			"to show harts, processes and times separately"]),
		...data.unknown.map(([why, count]) =>
			`${plural(count, data.unit)} without names: ${why}`)];
	const hint = exact ? "Every instruction was counted, so the shares are exact." :
		!sure ? "The harts ran freely, so no interval can say how far these shares " +
		"are from those of instructions." :
		"An interval says how sure a share is: the true share lies in 95 of 100 " +
		"such intervals (Wilson), and so it did in 1,000 runs of each of three " +
		"programs (docs/truth.md). Few samples give wide ones, and fewer than " +
		`${SURE_MIN} none.`;
	get("statistics").replaceChildren(list, element("p", "hint", hint),
		modesTable(), ...(data.beside ? [besideTable(data.beside)] : []),
		hartsTable(byHart), programsTable(byProgram));
	if (remarks.length)
		get("statistics").append(element("h2", "", "Remarks"),
			element("ul", "", ...remarks.map((text) => element("li", "", text))));
}
