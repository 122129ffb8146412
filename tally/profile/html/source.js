// The text of a function: source lines and instructions, each with its samples.
// They are those of the whole recording, whatever is chosen.

let shown = 0; // which function
let around = null; // a line whose instructions are marked, "file:line"

function ownOf(f) {
	return f.code.reduce((total, row) => total + row[4], f.beyond);
}

const functionCounts = data.functions.map(ownOf);

function openSource(index) {
	shown = index;
	around = null;
	show("source");
}

function drawList() {
	const list = get("list");
	const options = data.functions.map((f, index) => {
		const made = element("div", "option",
			element("span", "name", f.name), element("small", "", f.image),
			element("b", "", percent(functionCounts[index] / data.about.total)));
		made.setAttribute("role", "option");
		made.id = `option-${index}`;
		made.setAttribute("aria-selected", index === shown);
		made.addEventListener("click", () => openSource(index));
		return made;
	});
	list.replaceChildren(...options);
	list.setAttribute("aria-activedescendant", `option-${shown}`);
	if (options[shown])
		options[shown].scrollIntoView({ block: "nearest" });
}

function onListKey(event) {
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (!step)
		return;
	event.preventDefault();
	openSource(Math.max(0, Math.min(data.functions.length - 1, shown + step)));
	get("list").focus();
}

function drawSource() {
	drawList();
	const f = data.functions[shown];
	if (!f) {
		get("code").replaceChildren(element("p", "empty",
			"No function is known: the samples have no names."));
		return;
	}
	const all = data.about.total;
	const title = element("h2", "", f.name, element("small", "", ` ${f.image}`));
	const own = functionCounts[shown];
	const said = element("p", "hint",
		`${plural(own, data.unit)} in it, ${share(own, all)} of the whole recording.` +
		(f.disassembled ? "" : " No objdump for RISC-V was found when this page " +
			"was made: instructions are shown as their bytes.") +
		(f.beyond ? ` ${plural(f.beyond, data.unit)} beyond what is shown.` : ""));
	get("code").replaceChildren(
		element("div", "head", title, said),
		element("div", "sides", sourceSide(f), codeSide(f)));
	for (const side of document.querySelectorAll("#code .side"))
		toMiddle(side, side.querySelector(".hottest"));
}

function toMiddle(side, row) {
	if (row)
		side.scrollTop = row.offsetTop - side.clientHeight / 2;
}

function heat(made, count, most) {
	if (!count)
		return;
	made.style.setProperty("--heat", (0.12 + 0.5 * count / most).toFixed(3));
	made.classList.add("hot");
}

// A row: its share of the recording, samples, those with callees, a number or an
// offset, text.
function codeRow(own, total, label, text, most) {
	const row = element("div", "line",
		element("span", "count", own ? percent(own / data.about.total) : ""),
		element("span", "count", own ? own.toLocaleString("en") : ""),
		element("span", "count callees", total ? total.toLocaleString("en") : ""),
		element("span", "label", label), element("code", "", text || " "));
	heat(row, own, most);
	if (own && own === most)
		row.classList.add("hottest");
	return row;
}

function columnHead(label) {
	return element("div", "line columns", element("span", "count", "Share"),
		element("span", "count", "Itself"),
		element("span", "count callees", "With callees"),
		element("span", "label", label));
}

// Room for the longest count; at least for what is above it.
function fitCounts(side, counts) {
	const longest = Math.max(...counts, 0).toLocaleString("en").length;
	side.style.setProperty("--count", `${Math.max(10, longest)}ch`);
}

function sourceSide(f) {
	const side = element("div", "side source");
	const counts = new Map(f.lines.map(([file, line, own, total]) =>
		[`${file}:${line}`, [own, total]]));
	const most = Math.max(...f.lines.map(([, , own]) => own), 1);
	fitCounts(side, f.lines.map(([, , , total]) => total));
	const used = new Set(f.code.map((row) => `${row[2]}:${row[3]}`));
	const sourceRow = (key, number, text) => {
		const [own, total] = counts.get(key) || [0, 0];
		const row = codeRow(own, total, String(number), text, most);
		row.dataset.line = key;
		if (used.has(key)) {
			row.classList.add("used");
			row.addEventListener("click", () => mark(key, row));
		}
		return row;
	};
	f.source.forEach((excerpt, file) => {
		side.append(element("h3", "", excerpt.file, element("small", "",
			excerpt.newer ? " changed since the program was built" : "")));
		if (!excerpt.runs) {
			side.append(element("p", "empty", "This source file is missing, or not " +
				"among those that may be shown."));
			return;
		}
		side.append(columnHead("Line"));
		excerpt.runs.forEach(([first, lines], i) => {
			if (i)
				side.append(element("div", "line gap", element("span", "label", "\u22ee")));
			lines.forEach((text, j) => side.append(
				sourceRow(`${file}:${first + j}`, first + j, text)));
		});
	});
	if (!f.source.length)
		side.append(element("p", "empty", "This function has no line numbers."));
	return side;
}

function codeSide(f) {
	const side = element("div", "side instructions");
	const most = Math.max(...f.code.map((row) => row[4]), 1);
	fitCounts(side, f.code.map((row) => row[5]));
	side.append(element("h3", "", `Instructions from ${f.start}`), columnHead("Offset"));
	for (const [offset, text, file, line, own, total] of f.code) {
		const row = codeRow(own, total, "+" + offset.toString(16), text, most);
		row.dataset.line = `${file}:${line}`;
		if (file >= 0)
			row.addEventListener("click", () => mark(row.dataset.line, row));
		side.append(row);
	}
	return side;
}

// Show which instructions a line became, and which line an instruction is of.
function mark(key, from) {
	around = around === key ? null : key;
	let first = null;
	for (const row of document.querySelectorAll("#code .line[data-line]")) {
		const mine = around !== null && row.dataset.line === around;
		row.classList.toggle("marked", mine);
		if (mine && !first && row.parentNode !== from.parentNode)
			first = row;
	}
	if (first)
		toMiddle(first.parentNode, first);
}
