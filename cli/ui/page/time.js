// Times: how long ago in the text, exactly in the title; the texts follow the clock.
import {h, setText} from './dom.js';

const UNITS = [[60, 1, 's'], [3600, 60, 'min'], [86400, 3600, 'h'],
	[86400 * 60, 86400, 'd'], [86400 * 730, 86400 * 30.44, 'mo'], [Infinity, 86400 * 365.25, 'y']];

// 42 s, 3 min, 5 h, 2 d
export function span(seconds) {
	const [, size, unit] = UNITS.find(([below]) => seconds < below);
	return `${Math.floor(seconds / size)} ${unit}`;
}

export function ago(ms, now = Date.now()) {
	const seconds = (now - ms) / 1000;
	if (!Number.isFinite(seconds)) {
		return 'at an unknown time';
	}
	if (seconds < 0) {
		return seconds > -60 ? 'just now' : `in ${span(-seconds)}`;
	}
	return seconds < 2 ? 'just now' : `${span(seconds)} ago`;
}

export function absolute(ms) {
	const at = new Date(ms);
	if (Number.isNaN(at.getTime())) {
		return '';
	}
	return `${at.toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'medium'})} (${at.toISOString()})`;
}

export function timeOf(text) {
	return text ? Date.parse(text) : NaN;
}

export function setTime(e, ms) {
	const known = Number.isFinite(ms);
	const iso = known ? new Date(ms).toISOString() : '';
	if (e.dateTime !== iso) {
		e.dateTime = iso;
		e.title = absolute(ms);
	}
	setText(e, ago(ms));
}

export function timeElement(ms) {
	const e = h('time');
	setTime(e, ms);
	return e;
}

// Where no element can be inside, as in an option: textOf('3 min ago') is the whole text.
export function setTimeText(e, ms, textOf) {
	e.dataset.ticks = '';
	e.showTime = () => setText(e, textOf(ago(ms)));
	e.showTime();
}

// 90m, 12h, 7d, 1w, or a point in time (RFC 3339): the time in milliseconds since which, 0 for always, NaN where it is neither.
export function sinceOf(text, now = Date.now()) {
	if (!text) {
		return 0;
	}
	const match = /^(\d{1,6})\s*(s|m|min|h|d|w)$/.exec(text.trim());
	if (match) {
		const seconds = {s: 1, m: 60, min: 60, h: 3600, d: 86400, w: 7 * 86400}[match[2]];
		return now - Number(match[1]) * seconds * 1000;
	}
	return Date.parse(text);
}

function tick() {
	if (!document.hidden) {
		for (const e of document.querySelectorAll('time[datetime]')) {
			if (e.dateTime) {
				setText(e, ago(Date.parse(e.dateTime)));
			}
		}
		for (const e of document.querySelectorAll('[data-ticks]')) {
			e.showTime();
		}
	}
}

export function startClock() {
	setInterval(tick, 5000);
	document.addEventListener('visibilitychange', tick);
}
