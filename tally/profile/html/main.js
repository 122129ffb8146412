// The page's parts, and the keys.

const graphs = {
	flame: new Graph(get("flame").firstElementChild, () => new Callees(), true),
	callers: new Graph(get("callers").firstElementChild, () => new Callers(), false),
};

// What a tab shows: panels, how they are drawn, and the graph that has the zoom.
const TABS = {
	flame: { name: "Flame graph", graph: "flame" },
	callers: { name: "Callers", graph: "callers" },
	timeline: { name: "Timeline", graph: "flame", draw: drawRows },
	functions: { name: "Functions", draw: drawFunctions },
	...(data.waits && { waits: { name: "Waits", draw: drawWaits } }),
	source: { name: "Source", draw: drawSource },
	statistics: { name: "Statistics", draw: drawStatistics },
};
let tab = "flame";

const KEYS = [
	["/ or Ctrl-F", "Search: a word or a regular expression"],
	[`1 to ${Object.keys(TABS).length}`, "The views"],
	["Enter, or a click", "Zoom: the frame fills the width"],
	["Arrow keys", "Move to a callee or caller, or to a frame beside"],
	["Backspace", "Zoom out by one frame"],
	["Escape", "Undo one by one: search, zoom, span, rows, modes"],
	["s", "Source and instructions of the frame"],
	["t", "Move to the time strip: arrow keys select a span, with Shift resize it"],
	["z", "Timeline: show only the selected span, or all"],
	["d", "Switch between dark and light"],
	["?", "Show these keys"],
];

// --- Drawing ---------------------------------------------------------------

function draw() {
	const parts = TABS[tab];
	for (const name of Object.keys(TABS)) {
		get(name).hidden = name !== tab && name !== parts.graph;
		const button = get("tab-" + name);
		button.setAttribute("aria-selected", name === tab);
		button.tabIndex = name === tab ? 0 : -1;
	}
	document.body.toggleAttribute("data-graph", Boolean(parts.graph));
	get("details").replaceChildren();
	get("open").hidden = true;
	if (parts.draw)
		parts.draw();
	if (parts.graph)
		graphs[parts.graph].render();
	scrollToRoot();
	drawStrip();
	showMatched();
	showChoice();
}

// A flame graph's root is below.
function scrollToRoot() {
	const home = graphs.flame.home;
	home.scrollTop = home.scrollHeight;
}

function show(name) {
	tab = name;
	draw();
}

// The choice of samples has changed.
function changed() {
	choose();
	draw();
}

function showMatched() {
	if (!search.matches) {
		get("matched").textContent = "";
		return;
	}
	const graph = TABS[tab].graph && graphs[TABS[tab].graph];
	const item = graph ? graph.zoomed : new Callees();
	const found = matched(item);
	get("matched").textContent = `${share(found, item.total)} matched`;
	get("matched").title = plural(found, data.unit);
}

function chip(label, remove) {
	const made = element("button", "chip", element("span", "", label),
		element("span", "cross", "\u00d7"));
	made.type = "button";
	made.setAttribute("aria-label", `Remove: ${label}`);
	made.addEventListener("click", remove);
	return made;
}

function showChoice() {
	const chips = [];
	if (choice.span)
		chips.push(chip(spanText(choice.span), clearSpan));
	if (choice.hart !== null)
		chips.push(chip(`hart ${choice.hart}`, () => drop("hart")));
	if (choice.program !== null)
		chips.push(chip(choice.program, () => drop("program")));
	if (choice.process !== null) {
		const { name, pid } = data.processes[choice.process];
		chips.push(chip(`${name} (${pid})`, () => drop("process")));
	}
	const graph = TABS[tab].graph && graphs[TABS[tab].graph];
	if (graph && graph.zoomed && graph.zoomed.parent)
		chips.push(chip(graph.zoomed.place.name, () => resetZoom()));
	get("chips").replaceChildren(...chips);
	const count = chosen.total[0];
	get("count").textContent = count === data.about.total ?
		plural(count, data.unit) :
		`${count.toLocaleString("en")} of ${plural(data.about.total, data.unit)}`;
	drawModes();
}

function drop(what) {
	choice[what] = null;
	changed();
}

function resetZoom() {
	const { graph } = TABS[tab];
	graphs[graph].zoom(graphs[graph].makeRoot());
	scrollToRoot();
}

// Modes are the legend, and each can be hidden.
function drawModes() {
	const all = chosen.modes.reduce((sum, n) => sum + n, 0);
	get("modes").replaceChildren(...data.kinds.slice(0, MODES).map((kind, mode) => {
		const button = element("button", "mode", element("i", "dot " + kind),
			element("span", "", kind),
			element("b", "", percent(all ? chosen.modes[mode] / all : 0)));
		button.type = "button";
		button.id = "mode-" + kind;
		button.hidden = !usedModes[mode];
		button.title = `${kind}: ${plural(chosen.modes[mode], data.unit)}, ` +
			share(chosen.modes[mode], all);
		button.setAttribute("aria-pressed", !choice.hidden.has(mode));
		button.addEventListener("click", () => {
			if (!choice.hidden.delete(mode))
				choice.hidden.add(mode);
			changed();
			get("mode-" + kind).focus();
		});
		return button;
	}));
}

// --- What a user does --------------------------------------------------------

function onSearch() {
	find(get("search").value);
	draw();
}

function setTheme(dark) {
	document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function switchTheme() {
	setTheme(document.documentElement.dataset.theme !== "dark");
	draw();
}

// The system's, until the switch is used after it.
function followSystem() {
	const system = matchMedia("(prefers-color-scheme: dark)");
	setTheme(system.matches);
	system.addEventListener("change", () => {
		setTheme(system.matches);
		draw();
	});
}

// One step back to the whole.
function escape() {
	const graph = TABS[tab].graph && graphs[TABS[tab].graph];
	if (get("search").value) {
		get("search").value = "";
		onSearch();
	} else if (graph && graph.zoomed.parent) {
		resetZoom();
	} else if (choice.span) {
		clearSpan();
	} else {
		Object.assign(choice, { hart: null, program: null, process: null });
		choice.hidden.clear();
		changed();
	}
	get("search").blur();
}

function focusGraph() {
	const frame = document.querySelector('main :not([hidden]) > .graph [tabindex="0"]');
	if (frame)
		frame.focus();
}

function onKey(event) {
	const find = (event.ctrlKey || event.metaKey) && event.key === "f";
	const typing = document.activeElement === get("search");
	if (find && !typing || event.key === "/" && !typing) {
		event.preventDefault(); // Ctrl-F once more: the browser's own
		get("search").focus();
		get("search").select();
		return;
	}
	if (get("keys").open || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === "Escape")
		return escape();
	if (event.key === "Enter" && typing)
		return focusGraph();
	if (typing)
		return;
	const names = Object.keys(TABS);
	const actions = {
		"?": () => get("keys").showModal(),
		d: switchTheme,
		s: () => get("open").hidden || get("open").click(),
		t: () => get("strip").focus(),
		z: () => tab === "timeline" && bins && zoomTime(),
	};
	if (names[event.key - 1])
		show(names[event.key - 1]);
	else if (actions[event.key])
		actions[event.key]();
	else if (/^Arrow/.test(event.key) && document.activeElement === document.body)
		focusGraph();
}

function onTabKey(event) {
	const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
	if (!step)
		return;
	event.preventDefault();
	event.stopPropagation();
	const names = Object.keys(TABS);
	show(names[(names.indexOf(tab) + step + names.length) % names.length]);
	get("tab-" + tab).focus();
}

// --- Beginning ---------------------------------------------------------------

function makeTabs() {
	for (const [name, { name: label }] of Object.entries(TABS)) {
		const button = element("button", "", label);
		button.type = "button";
		button.id = "tab-" + name;
		button.setAttribute("role", "tab");
		button.setAttribute("aria-controls", name);
		button.addEventListener("click", () => show(name));
		get("tabs").append(button);
		get(name).setAttribute("aria-labelledby", button.id);
	}
	get("tabs").addEventListener("keydown", onTabKey);
}

function subtitle() {
	const { about } = data;
	const parts = [
		about.source, about.free, harts.length && plural(harts.length, "hart"),
		exact ? plural(about.total, data.unit) :
			`${plural(about.total, data.unit)} at ${about.rate.toLocaleString("en")} Hz`,
		bins && seconds(bins * binSeconds),
		about.lost && `${about.lost.toLocaleString("en")} lost`,
		about.skipped && `${about.skipped.toLocaleString("en")} skipped`,
		...about.warnings,
	];
	return parts.filter(Boolean).join(" \u00b7 ");
}

followSystem();
document.title = data.title;
get("title").textContent = data.title;
get("subtitle").textContent = subtitle();
get("subtitle").title = subtitle();
makeTabs();
for (const [key, meaning] of KEYS)
	get("keylist").append(element("dt", "", key), element("dd", "", meaning));
get("search").addEventListener("input", onSearch);
get("theme").addEventListener("click", switchTheme);
get("help").addEventListener("click", () => get("keys").showModal());
get("list").addEventListener("keydown", onListKey);
window.addEventListener("keydown", onKey);
window.addEventListener("resize", draw);
startTimeline();
choose();
const usedModes = Array.from(chosen.modes, Boolean);
draw();
