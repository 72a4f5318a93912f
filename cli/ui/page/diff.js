// A difference of two texts: one column or two, unchanged parts folded, any length.
import {announce, clear, copy, errorBox, h, setText, visible} from './dom.js';
import {columnsOf, itemsOf, piecesOf, rowsOf, unfolded} from './lines.js';
import {List} from './list.js';

const NARROW = 760; // pixels, below which two columns are no help

export class Diff {
	// loadWhole(): the hunks with all lines. onMode(mode): it was chosen.
	constructor({mode, loadWhole, onMode, label = 'Difference'}) {
		this.loadWhole = loadWhole;
		this.onMode = onMode;
		this.label = label;
		this.isChosen = Boolean(mode);
		this.mode = mode || 'split';
		this.items = [];
		this.rows = [];
		this.list = new List({label, wide: true, testid: 'diff',
			create: () => h('div'), render: (row, index) => this.renderRow(row, index),
			onOpen: (index) => this.rows[index].fold && this.unfold(this.rows[index].fold),
			onKey: (event, index) => this.key(event, index),
			onActive: (index) => this.tell(index),
			onScroll: ({x}) => this.shiftText(x)});
		this.list.element.addEventListener('mousedown', (event) => event.detail > 1 || this.list.element.focus({preventScroll: true}));
		this.observer = new ResizeObserver(() => this.measure());
		this.observer.observe(this.list.element);
		this.tally = h('span.tally', {role: 'status'});
		this.modeButtons = ['inline', 'split'].map((each) => h('button', {type: 'button', 'data-mode': each,
			text: each === 'split' ? 'Side by side' : 'Inline',
			onclick: () => {
				this.isChosen = true;
				this.setMode(each);
				this.onMode?.(each);
			}}));
		this.modes = h('span.segmented', {role: 'group', 'aria-label': 'Form of the difference', testid: 'diff-mode'}, this.modeButtons);
		this.at = h('div.at', {'data-testid': 'diff-path'}, h('span', {text: ' '}));
		this.message = h('div.empty', {hidden: true});
		this.element = h('div.diff', {}, this.message, this.list.element, this.at);
		this.setMode(this.mode);
	}

	close() {
		this.list.close();
		this.observer.disconnect();
	}

	setLabel(label) {
		this.label = label;
		this.list.element.setAttribute('aria-label', visible(label));
	}

	// ---- what is shown ----

	show(hunks) {
		this.whole = null;
		this.items = itemsOf(hunks);
		const count = (op) => this.items.reduce((n, item) => n + (item.op === op), 0);
		const plus = count('+'), minus = count('-');
		clear(this.tally).append(h('span.plus', {text: `+${plus.toLocaleString()}`}), ' ', h('span.minus', {text: `−${minus.toLocaleString()}`}));
		this.tally.setAttribute('aria-label', `${plus} lines added, ${minus} removed`);
		this.tally.hidden = false;
		if (this.items.length === 0) {
			this.say('These two are equal.');
			return;
		}
		this.say('');
		this.begin(Math.max(hunks.fromLines, hunks.toLines));
	}

	// One text alone: lines {text, path}.
	showState(lines) {
		this.whole = null;
		this.items = lines.map(({text, path}, i) => ({op: ' ', text, path, a: i + 1, b: 0}));
		this.tally.hidden = true;
		this.say('');
		this.begin(lines.length);
	}

	say(text, error, retry) {
		clear(this.message).append(...(error ? [errorBox(error, retry)] : [h('p', {text})]));
		this.message.hidden = !text && !error;
		this.list.element.hidden = this.at.hidden = Boolean(text || error);
		if (text || error) {
			this.items = this.rows = [];
			this.list.set(0);
			this.tally.hidden ||= Boolean(error);
		}
	}

	begin(numbers) {
		this.list.element.style.setProperty('--gutter', `${Math.max(3, String(numbers).length) + 1}ch`);
		this.widest = this.items.reduce((most, item) => Math.max(most, item.fold ? 0 : columnsOf(item.text)), 0);
		this.list.active = -1;
		this.makeRows();
		this.list.element.scrollTop = this.list.element.scrollLeft = 0;
		this.tell(-1);
	}

	makeRows() {
		// One text alone is not shown twice.
		const mode = this.items.some((item) => item.fold || item.op !== ' ') ? this.mode : 'inline';
		this.rows = rowsOf(this.items, mode);
		this.list.layer.classList.toggle('split', mode === 'split');
		this.list.set(this.rows.length);
		this.measure();
	}

	setMode(mode) {
		const active = this.rows[this.list.active];
		this.mode = mode;
		for (const button of this.modeButtons) {
			button.setAttribute('aria-pressed', String(button.dataset.mode === mode));
		}
		this.modes.dataset.mode = mode;
		if (this.items.length) {
			this.makeRows();
			const line = active?.fold ?? active?.line ?? active?.right ?? active?.left;
			const at = line ? this.rows.findIndex((row) => [row.fold, row.line, row.left, row.right].includes(line)) : -1;
			this.list.active = at;
			if (at >= 0) {
				this.list.reveal(at);
			}
		}
	}

	async unfold(fold) {
		try {
			if (!this.whole) {
				const items = this.items;
				announce('Reading all lines');
				const whole = itemsOf(await this.loadWhole());
				if (items !== this.items) {
					return;
				}
				this.whole = whole;
			}
		} catch (error) {
			announce(`The lines could not be read: ${error.message}`);
			setText(this.at.firstChild, `The lines could not be read: ${error.message}`);
			return;
		}
		const at = this.items.indexOf(fold);
		if (at < 0) {
			return;
		}
		const lines = unfolded(fold, this.whole);
		const rowAt = this.rows.findIndex((row) => row.fold === fold);
		this.items = this.items.slice(0, at).concat(lines, this.items.slice(at + 1));
		this.widest = lines.reduce((most, line) => Math.max(most, columnsOf(line.text)), this.widest);
		this.makeRows();
		this.list.activate(rowAt);
		announce(`${lines.length} lines are unfolded`);
	}

	// ---- sideways ----

	measure() {
		// Whoever has not chosen gets what the width allows.
		const fitting = this.list.element.clientWidth < NARROW ? 'inline' : 'split';
		if (!this.isChosen && this.list.element.clientWidth && this.mode !== fitting) {
			this.setMode(fitting);
			return;
		}
		const code = this.list.layer.querySelector('.list-row:not([hidden]) .code');
		if (!this.probe) {
			this.probe = h('span.sr', {text: '0'.repeat(100), 'aria-hidden': 'true'});
			this.list.element.append(this.probe);
			this.column = this.probe.scrollWidth / 100;
			this.probe.remove();
			this.probe = this.column > 1 ? true : null;
		}
		if (this.list.rowHeight && code) {
			this.list.setOverflow(Math.ceil((this.widest + 2) * (this.column || 8) - code.clientWidth));
		} else if (this.rows.length && !this.measuring) {
			// After the first rows were drawn.
			this.measuring = requestAnimationFrame(() => requestAnimationFrame(() => {
				this.measuring = 0;
				this.measure();
			}));
		}
	}

	shiftText(x) {
		if (x !== this.x) {
			this.x = x;
			this.list.layer.style.setProperty('--x', `${-x}px`);
		}
	}

	// ---- rows ----

	renderRow(element, index) {
		const row = this.rows[index];
		const isNew = element.row === row;
		if (isNew && element.mode === this.mode) {
			return;
		}
		element.row = row;
		element.mode = this.mode;
		if (row.fold) {
			element.replaceChildren(h('div.fold', {role: 'gridcell', testid: 'fold', title: 'Show these lines (Enter)',
				text: `⋯  ${row.fold.count.toLocaleString()} unchanged ${row.fold.count === 1 ? 'line' : 'lines'}`}));
		} else if (row.line) {
			element.replaceChildren(this.half(row.line, [row.line.a, row.line.b]));
		} else {
			element.replaceChildren(this.half(row.left, [row.left?.a]), this.half(row.right, [row.right?.b]));
		}
	}

	half(line, numbers) {
		if (!line) {
			return h('div.half', {role: 'gridcell', 'data-op': 'none', 'aria-label': 'no line'});
		}
		return h('div.half', {role: 'gridcell', testid: 'diff-line', 'data-op': line.op, 'data-path': visible(line.path)},
			numbers.map((n) => h('span.num', {text: n || ''})),
			h('span.sign', {text: line.op === ' ' ? '' : line.op}),
			h('span.code', {}, h('span', {}, piecesOf(line).map(({text, kind}) =>
				kind === 'mark' ? h('mark', {text}) : kind === 'cut' ? h('span.cut', {text}) : visible(text)))),
			h('button.copy', {type: 'button', tabindex: '-1', testid: 'copy-path', text: 'Copy path',
				title: `Copy ${line.path || '/'} (c)`, 'aria-label': `Copy path ${line.path}`,
				onclick: () => this.copyText(line.path, 'path')}));
	}

	lineAt(index) {
		const row = this.rows[index];
		return row && (row.line ?? row.right ?? row.left);
	}

	async copyText(text, what) {
		const done = await copy(text);
		const said = done ? `Copied the ${what}: ${text.length > 200 ? `${text.length} characters` : text}` : 'The browser did not allow to copy.';
		setText(this.at.firstChild, said);
		announce(said);
	}

	tell(index) {
		const line = this.lineAt(index);
		const has = (what) => this.rows.some((row) => row[what]);
		setText(this.at.firstChild, line ? line.path || '/' : [has('isChange') && 'n and p: next and previous change',
			'c: copy the path', has('fold') && 'Enter: unfold'].filter(Boolean).join(' · '));
	}

	key(event, index) {
		const line = this.lineAt(index);
		if (event.key === 'n' || event.key === 'p') {
			const step = event.key === 'n' ? 1 : -1;
			for (let i = index + step; i >= 0 && i < this.rows.length; i += step) {
				if (this.rows[i].isChange) {
					this.list.activate(i);
					this.list.reveal(i);
					return true;
				}
			}
			announce('No further change');
			return true;
		}
		if (event.key === 'c' && line) {
			this.copyText(line.path, 'path');
			return true;
		}
		if (event.key === 'C' && line) {
			this.copyText(line.text, 'line');
			return true;
		}
		if (event.key === ' ' && this.rows[index]?.fold) {
			this.unfold(this.rows[index].fold);
			return true;
		}
		if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
			this.list.element.scrollLeft += event.key === 'ArrowRight' ? 60 : -60;
			return true;
		}
		return false;
	}
}
