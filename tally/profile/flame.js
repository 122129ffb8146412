// The flame graph's behaviour: details under the pointer, zoom, search.
// What a frame is stands in its data: first sample, samples, depth, name.
"use strict";
(function () {
	const svg = document.documentElement;
	const view = JSON.parse(svg.getElementById("view").textContent);
	const get = (id) => svg.getElementById(id);
	const frames = Array.from(svg.querySelectorAll(".frame"), (group) => ({
		group,
		rect: group.querySelector("rect"),
		text: group.querySelector("text"),
		start: Number(group.dataset.start),
		count: Number(group.dataset.count),
		depth: Number(group.dataset.depth),
		name: group.dataset.name,
	}));
	const all = frames[0];
	let zoomed = all;
	let matches = null; // a function of a name, or null

	function share(count, of) {
		return of ? (100 * count / of).toFixed(2) + "%" : "0%";
	}

	function samples(count) {
		return count.toLocaleString("en") + " " + view.unit +
			(count === 1 ? "" : "s");
	}

	// These two are as in write_svg.py.
	function visible(width) {
		return Math.max(width > 3 ? width - 0.6 : width, 0.3);
	}

	function clip(name, width) {
		const room = Math.floor((width - 6) / view.letter);
		if (name.length <= room)
			return name;
		return room < 4 ? "" : name.slice(0, room - 2) + "..";
	}

	function place(frame) {
		const end = zoomed.start + zoomed.count;
		const from = Math.max(frame.start, zoomed.start);
		const to = Math.min(frame.start + frame.count, end);
		frame.shown = to > from || frame === zoomed;
		frame.group.classList.toggle("hidden", !frame.shown);
		if (!frame.shown)
			return;
		const scale = view.width / (zoomed.count || 1);
		const x = view.left + (from - zoomed.start) * scale;
		const width = visible((to - from) * scale);
		frame.rect.setAttribute("x", x.toFixed(2));
		frame.rect.setAttribute("width", width.toFixed(2));
		frame.text.setAttribute("x", (x + 3).toFixed(2));
		frame.text.textContent = clip(frame.name, width);
		frame.group.classList.toggle("above", frame.depth < zoomed.depth);
	}

	function zoom(frame) {
		zoomed = frame;
		frames.forEach(place);
		get("reset").classList.toggle("hidden", frame === all);
		search();
	}

	// A word, or a regular expression; case doesn't matter.
	function matcher(words) {
		if (!words)
			return null;
		try {
			const pattern = new RegExp(words, "i");
			return (name) => pattern.test(name);
		} catch (error) {
			const plain = words.toLowerCase();
			return (name) => name.toLowerCase().includes(plain);
		}
	}

	// Samples with a frame that matches, each once: callers come first, so a
	// frame that begins before `end` lies within one that is counted.
	function search() {
		const last = zoomed.start + zoomed.count;
		let end = zoomed.start;
		let found = 0;
		for (const frame of frames) {
			const match = matches !== null && matches(frame.name);
			const from = Math.max(frame.start, zoomed.start);
			frame.group.classList.toggle("match", match);
			if (!match || !frame.shown || from < end)
				continue;
			end = Math.min(frame.start + frame.count, last);
			found += end - from;
		}
		get("matched").textContent = matches === null ? "" :
			"Matched: " + share(found, zoomed.count) +
			" (" + samples(found) + ")";
	}

	function describe(frame) {
		get("details").textContent = frame ?
			frame.name + "  \u2014  " + samples(frame.count) + ", " +
			share(frame.count, all.count) : "";
	}

	function addSearchBox() {
		const home = get("searchbox");
		const input = document.createElementNS(
			"http://www.w3.org/1999/xhtml", "input");
		input.setAttribute("id", "search");
		input.setAttribute("type", "search");
		input.setAttribute("placeholder", "Search (Ctrl-F)");
		input.setAttribute("aria-label", "Search for functions");
		home.appendChild(input);
		input.addEventListener("input", () => {
			matches = matcher(input.value);
			search();
		});
		window.addEventListener("keydown", (event) => {
			const find = (event.ctrlKey || event.metaKey) && event.key === "f";
			if (find && document.activeElement !== input) {
				event.preventDefault(); // once more: the browser's own
				input.focus();
				input.select();
			} else if (event.key === "Escape" && input.value) {
				input.value = "";
				matches = null;
				search();
			} else if (event.key === "Escape") {
				input.blur();
				zoom(all);
			}
		});
	}

	for (const frame of frames) {
		frame.group.addEventListener("click", () => zoom(frame));
		frame.group.addEventListener("mouseover", () => describe(frame));
		frame.group.addEventListener("mouseout", () => describe(null));
	}
	get("reset").addEventListener("click", () => zoom(all));
	addSearchBox();
	zoom(all);
})();
