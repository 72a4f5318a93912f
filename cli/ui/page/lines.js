// What a difference is made of: hunks of lines become rows, for one column or for two. Nothing here touches the page.

const SHOWN_MAX = 1200; // characters of one line that are shown
const BEFORE = 120;     // of them before what changed

// Hunks -> items: lines {op, text, path, a, b} with their numbers in both texts (0: not there), and folds
// {fold: true, a, b, count} of unchanged lines that the hunks leave out.
export function itemsOf({hunks, fromLines, toLines}) {
	const items = [];
	let a = 1, b = 1;
	const fold = (count) => {
		if (count > 0) {
			items.push({fold: true, a, b, count});
		}
	};
	for (const hunk of hunks) {
		// Where a text is empty its number may be 0.
		fold(Math.min(Math.max(hunk.from, 1) - a, Math.max(hunk.to, 1) - b));
		a = Math.max(hunk.from, 1);
		b = Math.max(hunk.to, 1);
		for (const {op, text, path} of hunk.lines) {
			items.push({op, text, path, a: op === '+' ? 0 : a, b: op === '-' ? 0 : b});
			a += op === '+' ? 0 : 1;
			b += op === '-' ? 0 : 1;
		}
	}
	if (hunks.length) {
		fold(Math.min(fromLines - a, toLines - b) + 1);
	}
	return items;
}

// The lines of a fold, out of the items of the whole text.
export function unfolded(fold, whole) {
	const first = whole.findIndex((item) => item.a === fold.a);
	return whole.slice(first, first + fold.count);
}

// What differs between two lines: where the middle begins, and its end in each. null where nothing is equal.
export function middleOf(from, to) {
	const most = Math.min(from.length, to.length);
	let start = 0, end = 0;
	while (start < most && from[start] === to[start]) {
		start++;
	}
	while (end < most - start && from[from.length - 1 - end] === to[to.length - 1 - end]) {
		end++;
	}
	if (start && /[\ud800-\udbff]/.test(from[start - 1])) {
		start--;
	}
	if (end && /[\udc00-\udfff]/.test(from[from.length - end])) {
		end--;
	}
	return start + end === 0 ? null : {from: [start, from.length - end], to: [start, to.length - end]};
}

// Which removed lines became which added ones: those of the same path, in their order. What has no partner lies
// between. -> [[removed or null, added or null], ...]
export function pairsOf(removed, added) {
	const places = new Map();
	added.forEach((line, j) => {
		if (!places.has(line.path)) {
			places.set(line.path, []);
		}
		places.get(line.path).push(j);
	});
	const pairs = [];
	let i = 0, j = 0, waiting = 0;
	const loose = (iEnd, jEnd) => {
		for (let n = Math.max(iEnd - waiting, jEnd - j); n > 0; n--) {
			pairs.push([waiting < iEnd ? removed[waiting++] : null, j < jEnd ? added[j++] : null]);
		}
	};
	for (; i < removed.length; i++) {
		const there = places.get(removed[i].path) ?? [];
		while (there.length && there[0] < j) {
			there.shift();
		}
		if (there.length) {
			const at = there.shift();
			loose(i, at);
			removed[i].middle = added[at].middle = undefined;
			const middle = middleOf(removed[i].text, added[at].text);
			if (middle) {
				removed[i].middle = middle.from;
				added[at].middle = middle.to;
			}
			pairs.push([removed[i], added[at]]);
			waiting = i + 1;
			j = at + 1;
		}
	}
	loose(removed.length, added.length);
	return pairs;
}

// Items -> rows: {left, right} in two columns, {line} in one, {fold} in both. Marks in each line what has changed
// of it.
export function rowsOf(items, mode) {
	const rows = [];
	for (let i = 0; i < items.length;) {
		const item = items[i];
		if (item.fold) {
			rows.push({fold: item});
			i++;
		} else if (item.op === ' ') {
			rows.push(mode === 'split' ? {left: item, right: item} : {line: item});
			i++;
		} else {
			const removed = [], added = [], first = i;
			for (; i < items.length && !items[i].fold && items[i].op !== ' '; i++) {
				(items[i].op === '-' ? removed : added).push(items[i]);
			}
			const pairs = pairsOf(removed, added);
			const start = rows.length;
			if (mode === 'split') {
				for (const [left, right] of pairs) {
					rows.push({left, right});
				}
			} else {
				for (let k = first; k < i; k++) {
					rows.push({line: items[k]});
				}
			}
			rows[start].isChange = true;
		}
	}
	return rows;
}

// A line as pieces {text, kind: '' | 'mark' | 'cut'}; of a very long one what is around its change.
export function piecesOf({text, middle}) {
	let first = 0, last = text.length;
	if (text.length > SHOWN_MAX) {
		first = middle ? Math.max(0, middle[0] - BEFORE) : 0;
		last = Math.min(text.length, first + SHOWN_MAX);
		// Never between the two halves of a character.
		if (first && /[\udc00-\udfff]/.test(text[first])) {
			first--;
		}
		if (last < text.length && /[\udc00-\udfff]/.test(text[last])) {
			last--;
		}
	}
	const pieces = [];
	const add = (from, to, kind) => {
		if (to > from) {
			pieces.push({text: text.slice(from, to), kind});
		}
	};
	if (first) {
		pieces.push({text: `… ${first.toLocaleString()} characters … `, kind: 'cut'});
	}
	if (middle && middle[1] > middle[0]) {
		const from = Math.max(first, Math.min(middle[0], last)), to = Math.min(last, Math.max(middle[1], first));
		add(first, from, '');
		add(from, to, 'mark');
		add(Math.max(from, to), last, '');
	} else {
		add(first, last, '');
	}
	if (last < text.length) {
		pieces.push({text: ` … ${(text.length - last).toLocaleString()} more characters`, kind: 'cut'});
	}
	return pieces;
}

// How wide a line is, in columns of a font of fixed width; roughly, where characters are wide.
export function columnsOf(text) {
	const n = Math.min(text.length, SHOWN_MAX + 80);
	return /[\u1100-\uffff]/.test(text.slice(0, n)) ? n * 2 : n;
}

// ---- a whole state, for what has nothing to be compared with ----

const PLAIN = /^[A-Za-z_][\w./-]*$/;
const NOT_PLAIN = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

const scalar = (value) => typeof value === 'string' && PLAIN.test(value) && !NOT_PLAIN.test(value) ? value : JSON.stringify(value);

// A JSON value as lines of YAML: {text, path}.
export function linesOf(value, path = '', indent = '') {
	const lines = [];
	const isHolder = (v) => v !== null && typeof v === 'object' && Object.keys(v).length > 0;
	if (!isHolder(value)) {
		return [{text: indent + scalar(value), path}];
	}
	for (const key of Array.isArray(value) ? value.keys() : Object.keys(value).sort()) {
		const each = value[key], at = `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
		if (Array.isArray(value)) {
			const inner = linesOf(each, at, `${indent}  `);
			inner[0].text = `${indent}- ${inner[0].text.slice(indent.length + 2)}`;
			for (const line of inner) {
				lines.push(line);
			}
		} else if (isHolder(each)) {
			lines.push({text: `${indent}${scalar(key)}:`, path: at});
			for (const line of linesOf(each, at, Array.isArray(each) ? indent : `${indent}  `)) {
				lines.push(line);
			}
		} else {
			lines.push({text: `${indent}${scalar(key)}: ${scalar(each)}`, path: at});
		}
	}
	return lines;
}
