// What threads waited for, for how long, and who ended it. Nothing of it is sampled.

const WAITS_HEADS = ["Waiting for", "Program", "Time, ms", "Waits", "Longest, ms",
	"at, s", "Woken by"];

function milliseconds(time) {
	return time.toLocaleString("en",
		{ minimumFractionDigits: 3, maximumFractionDigits: 3 });
}

// Calls on one line, the innermost first. Where each is, says its title.
function callsLine(mode, calls) {
	const line = element("div", "calls", element("i", "dot " + mode));
	calls.forEach(([name, place], i) => {
		const call = element("span", "", name);
		call.title = place || name;
		line.append(i ? " < " : "", call);
	});
	return line;
}

function waitRow([what, who, , user, kernel, total, count, longest, at, wakers,
	unfinished]) {
	const ended = wakers.map(([name, n]) => `${name}: ${n.toLocaleString("en")}`);
	if (unfinished)
		ended.push(`nobody yet: ${unfinished}`);
	const row = cells("", who, milliseconds(total), count.toLocaleString("en"),
		milliseconds(longest), (at / 1e3).toFixed(3), "");
	row.firstChild.append(element("b", "", what));
	if (user.length)
		row.firstChild.append(callsLine("user", user));
	if (kernel.length)
		row.firstChild.append(callsLine("kernel", kernel));
	row.lastChild.append(...ended.map((text) => element("div", "", text)));
	return row;
}

// The search is for what was waited for, by whom, in which function, and for wakers.
function isWaitFound([what, who, , user, kernel, , , , , wakers]) {
	const texts = [what, who, ...user.map(([name]) => name),
		...kernel.map(([name]) => name), ...wakers.map(([name]) => name)];
	return !search.test || texts.some((text) => search.test(text));
}

function drawWaits() {
	const { rows, ready, lost, more, seconds: watched } = data.waits;
	const found = rows.filter((row) => isWaitFound(row) &&
		(choice.program === null || row[2] === choice.program));
	const missing = [
		more && `${more} rows with shorter waits are omitted`,
		lost && `${plural(lost, "wait")} lost, as the table was full`,
	].filter(Boolean).join("; ");
	const caption = `${plural(found.length, "row")} of ${seconds(watched)}` +
		(missing && `; ${missing}`);
	get("waits").replaceChildren(
		element("p", "hint", "Each wait was timed, not sampled. The table shows the " +
			"whole recording, whichever span, hart or mode is chosen."),
		table(caption, WAITS_HEADS, found.map(waitRow)),
		table("Runnable, not running", ["Program", "Time, ms", "Times", "Longest, ms",
			"at, s", "Ran, ms"],
		ready.map(([who, total, count, longest, at, ran]) => cells(who,
			milliseconds(total), count.toLocaleString("en"), milliseconds(longest),
			(at / 1e3).toFixed(3), milliseconds(ran)))));
}
