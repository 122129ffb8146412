// Opens a file in headless Chromium, does what a user would, and prints what
// was to be seen, as JSON. Run by test_viewers.py, with node's packages beside.
//
//	browser.mjs svg FILE WORD CLICK SHOTS
//	browser.mjs html FILE WORD CLICK SHOTS
//	browser.mjs waits FILE WORD SHOTS
//	browser.mjs course FILE SHOTS
//	browser.mjs speedscope FILE SHOTS
//	browser.mjs schema FILE
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.cwd(), "package.json"));
const speedscope = path.join(
	path.dirname(require.resolve("speedscope/package.json")), "dist/release");

async function withPage(url, work) {
	const { chromium } = require("playwright-core");
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		args: ["--no-sandbox"], // it opens our own files only
	});
	try {
		const page = await browser.newPage({
			viewport: { width: 1240, height: 600 },
		});
		const errors = [];
		const requests = [];
		page.on("pageerror", (error) => errors.push(error.message));
		page.on("request", (request) => requests.push(request.url()));
		await page.goto(url.href);
		const seen = await work(page);
		return { ...seen, errors, requests };
	} finally {
		await browser.close();
	}
}

// The frames that are shown: name, width and text.
function shownFrames(page) {
	return page.$$eval(".frame:not(.hidden)", (groups) => groups.map((g) => ({
		name: g.dataset.name,
		count: Number(g.dataset.count),
		width: g.querySelector("rect").getBoundingClientRect().width,
		text: g.querySelector("text").textContent,
		fits: g.querySelector("text").getBoundingClientRect().width <=
			g.querySelector("rect").getBoundingClientRect().width,
		match: g.classList.contains("match"),
		above: g.classList.contains("above"),
	})));
}

async function state(page) {
	return {
		frames: await shownFrames(page),
		matched: await page.textContent("#matched"),
		details: await page.textContent("#details"),
		reset: await page.isVisible("#reset"),
	};
}

async function svg(file, word, click, shots) {
	return withPage(pathToFileURL(file), async (page) => {
		const seen = {};
		const frame = page.locator(`.frame[data-name="${click}"]`).first();
		const shoot = async (name) => {
			seen[name] = await state(page);
			await page.screenshot({ path: path.join(shots, `svg-${name}.png`) });
		};
		await shoot("whole");
		await frame.hover();
		await shoot("hover");
		await page.keyboard.press("Control+f");
		await page.keyboard.type(word);
		await shoot("search");
		await frame.click();
		await shoot("zoom");
		await page.click("#reset");
		await page.focus("#search");
		await page.keyboard.press("Escape");
		await page.mouse.move(0, 0);
		await shoot("reset");
		return seen;
	});
}

// What a graph of the page shows: each frame's label, "NAME, N samples, P %".
function labels(page, graph) {
	return page.$$eval(`#${graph} .frame`, (frames) => frames.map((f) => ({
		label: f.getAttribute("aria-label"),
		width: f.getBoundingClientRect().width,
		match: f.classList.contains("match"),
	})));
}

// Each view, in both colours; then what a user may do, in turn.
async function html(file, word, click, shots) {
	return withPage(pathToFileURL(file), async (page) => {
		const seen = { drawn: await page.evaluate(() => performance.now()) };
		const count = () => page.textContent("#count");
		for (const scheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme: scheme });
			for (const key of "123456") {
				await page.keyboard.press(key);
				await page.screenshot({
					path: path.join(shots, `html-${scheme}-${key}.png`),
				});
			}
			seen[scheme] = await page.$eval("body", (body) =>
				getComputedStyle(body).backgroundColor);
		}
		await page.keyboard.press("5");
		seen.source = await page.textContent("#code");
		seen.hottest = await page.$$eval(".source .hottest span, .source .hottest code",
			(cells) => cells.map((cell) => cell.textContent));
		seen.cut = await page.$$eval("#code .line span", (cells) => cells
			.filter((cell) => cell.scrollWidth > cell.clientWidth)
			.map((cell) => cell.textContent));
		await page.keyboard.press("6");
		seen.statistics = await page.textContent("#statistics");
		await page.keyboard.press("1");
		seen.whole = await labels(page, "flame");
		seen.all = await count();
		await page.keyboard.press("/");
		await page.keyboard.type(word);
		seen.search = await labels(page, "flame");
		seen.matched = await page.textContent("#matched");
		await page.keyboard.press("Escape");
		await page.click(`#flame .frame[aria-label^="${click},"]`);
		seen.zoom = await labels(page, "flame");
		await page.keyboard.press("s");
		seen.ofZoomed = await page.textContent("#code");
		await page.keyboard.press("1");
		await page.keyboard.press("Escape");
		await page.keyboard.press("t");
		await page.keyboard.press("ArrowRight");
		seen.span = await count();
		seen.inSpan = await labels(page, "flame");
		for (let i = 0; i < 4; i++)
			await page.keyboard.press("Escape");
		seen.reset = await count();
		await page.keyboard.press("2");
		seen.callers = await labels(page, "callers");
		return seen;
	});
}

// The view of waits, as it is and after a search.
async function waits(file, word, shots) {
	return withPage(pathToFileURL(file), async (page) => {
		const rows = () => page.$$eval("#waits tbody tr", (found) =>
			found.map((row) => [...row.cells].map((cell) => cell.innerText)));
		const seen = { tabs: await page.textContent("#tabs") };
		for (const scheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme: scheme });
			await page.keyboard.press("5");
			await page.screenshot({ path: path.join(shots, `waits-${scheme}.png`) });
		}
		seen.rows = await rows();
		seen.caption = await page.textContent("#waits caption");
		await page.keyboard.press("/");
		await page.keyboard.type(word);
		seen.found = await rows();
		return seen;
	});
}

// A course's page, without a mouse: the first link of the table, by the keyboard, on
// screens in both colours; and what is on paper.
async function course(file, shots) {
	return withPage(pathToFileURL(file), async (page) => {
		const seen = {};
		for (const scheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme: scheme });
			await page.screenshot({
				path: path.join(shots, `course-${scheme}.png`), fullPage: true,
			});
			seen[scheme] = await page.$eval("html", (top) =>
				getComputedStyle(top).colorScheme + getComputedStyle(
					top.querySelector(".no")).backgroundColor);
		}
		await page.keyboard.press("Tab");
		await page.keyboard.press("Enter");
		seen.reason = await page.textContent("section:target");
		await page.emulateMedia({ media: "print" });
		seen.printed = await page.evaluate(() => document.body.innerText);
		await page.pdf({ path: path.join(shots, "course.pdf") });
		return seen;
	});
}

// speedscope's own page imports the file, the way its command makes it.
async function inSpeedscope(file, shots) {
	const data = fs.readFileSync(file).toString("base64");
	const script = path.join(shots, "speedscope-load.js");
	fs.writeFileSync(script, "speedscope.loadFileFromBase64(" +
		`${JSON.stringify(path.basename(file))}, "${data}")`);
	const url = pathToFileURL(path.join(speedscope, "index.html"));
	url.hash = `localProfilePath=${script}`;
	return withPage(url, async (page) => {
		await page.waitForSelector("canvas", { timeout: 60000 });
		await page.screenshot({ path: path.join(shots, "speedscope.png") });
		return {
			title: await page.title(),
			text: await page.evaluate(() => document.body.innerText),
		};
	});
}

function schema(file) {
	const Ajv = require("ajv");
	const rules = path.join(speedscope, "file-format-schema.json");
	const ajv = new Ajv({ strict: false });
	const check = ajv.compile(JSON.parse(fs.readFileSync(rules)));
	return { valid: check(JSON.parse(fs.readFileSync(file))), errors: check.errors };
}

const [what, ...words] = process.argv.slice(2);
const seen = await { svg, html, waits, course, speedscope: inSpeedscope, schema }[what](...words);
console.log(JSON.stringify(seen));
