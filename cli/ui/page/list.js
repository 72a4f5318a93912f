// A list of any length of which only the rows in sight are elements. The rows lie in a layer that stays where
// it is (position: sticky) while the empty height behind it is scrolled; so their number is constant, and the
// height of millions of rows, which no browser lays out, is only a scale.
import {h} from './dom.js';

const TALLEST = 8e6; // pixels; Firefox stops at 17.8 million
const SPARE = 4;     // rows beyond the edges
let serial = 0;

// options:
//   label, testid, columns: what the list is; names of the columns, where it has headings
//   render(row, index)     fills a row's element, which is used again and again; reset() is called for before
//   create()               the element of a row
//   keyOf(index)           what the row at an index is, so that the active row stays the same when others come
//   onOpen(index, event)   Enter, or a click
//   onKey(event, index)    other keys: true when it was one of its own
//   onActive(index)        another row is active
//   onScroll({atTop, x})
export class List {
	constructor({label, testid, headings, create, render, keyOf, onOpen, onKey, onActive, onScroll, wide = false}) {
		Object.assign(this, {create, render, keyOf, onOpen, onKey, onActive, onScroll});
		this.id = `list${++serial}`;
		this.count = 0;
		this.active = -1;
		this.activeKey = undefined;
		this.pool = [];
		this.layer = h('div.list-layer', {role: 'rowgroup'});
		this.space = h('div.list-space', {role: 'presentation'}, this.layer);
		this.head = headings ? h('div.list-head', {role: 'rowgroup'},
			h('div.list-row', {role: 'row', 'aria-rowindex': 1}, headings.map((text) => h('span', {role: 'columnheader', text})))) : null;
		this.element = h(wide ? 'div.list.list-wide' : 'div.list', {role: 'grid', tabindex: '0', 'aria-label': label, testid,
			'aria-readonly': 'true',
			onscroll: () => this.draw(), onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
			onfocus: () => this.focus()}, this.head, this.space);
		this.observer = new ResizeObserver(() => this.measure());
		this.observer.observe(this.element);
	}

	get offset() { // of row numbers: the headings are row 1
		return this.head ? 2 : 1;
	}

	close() {
		this.observer.disconnect();
		cancelAnimationFrame(this.frame);
	}

	measure() {
		const style = getComputedStyle(this.element);
		this.rowHeight = parseFloat(style.getPropertyValue('--row')) || 32;
		this.height = this.element.clientHeight - (this.head?.offsetHeight ?? 0);
		this.width = this.element.clientWidth;
		this.layout();
	}

	// The number of rows is another one, or what they show. The active row stays the one that it was.
	set(count) {
		this.count = count;
		if (this.active >= 0 && this.keyOf) {
			if (this.active >= count || this.keyOf(this.active) !== this.activeKey) {
				this.active = this.find(this.activeKey);
				this.activeKey = this.active >= 0 ? this.activeKey : undefined;
			}
		} else if (this.active >= count) {
			this.active = count - 1;
		}
		this.element.setAttribute('aria-rowcount', count + this.offset - 1);
		this.layout();
	}

	find(key) {
		for (let i = 0; i < this.count; i++) {
			if (this.keyOf(i) === key) {
				return i;
			}
		}
		return -1;
	}

	layout() {
		if (!this.rowHeight) {
			return;
		}
		this.total = this.count * this.rowHeight;
		this.shown = Math.min(this.total, TALLEST);
		this.space.style.height = `${Math.max(this.shown, 0)}px`;
		this.layer.style.width = `${this.width}px`;
		this.layer.style.height = `${Math.max(0, Math.min(this.height, this.shown))}px`;
		this.draw(true);
	}

	// The widest row, in pixels beyond the width of the list: how far it scrolls sideways.
	setOverflow(pixels) {
		this.space.style.width = pixels > 0 ? `${this.width + pixels}px` : '';
	}

	// Pixels from the first row to the upper edge.
	get top() {
		const most = this.shown - this.height;
		if (most <= 0) {
			return 0;
		}
		const scrolled = Math.min(this.element.scrollTop, most);
		return this.total > this.shown ? scrolled * (this.total - this.height) / most : scrolled;
	}

	scrollTo(top) {
		const most = this.shown - this.height;
		this.element.scrollTop = this.total > this.shown ? top * most / (this.total - this.height) : top;
		this.draw();
	}

	get atTop() {
		return this.element.scrollTop < 2;
	}

	// Rows came before the others: what is in sight stays in sight.
	shift(rows) {
		if (!this.atTop && rows) {
			this.scrollTo(this.top + rows * this.rowHeight);
		}
	}

	draw(all = false) {
		this.redraw ||= all;
		if (!this.frame) {
			this.frame = requestAnimationFrame(() => {
				this.frame = 0;
				this.drawNow();
			});
		}
	}

	drawNow() {
		const all = this.redraw;
		this.redraw = false;
		if (!this.rowHeight || !this.element.isConnected) {
			return;
		}
		const top = this.top, fits = Math.ceil(this.height / this.rowHeight) + 1;
		const first = Math.max(0, Math.floor(top / this.rowHeight) - SPARE);
		const last = Math.min(this.count, Math.floor(top / this.rowHeight) + fits + SPARE);
		const wanted = fits + 2 * SPARE;
		while (this.pool.length < Math.min(wanted, this.count)) {
			const row = this.create();
			row.setAttribute('role', 'row');
			row.classList.add('list-row');
			row.id = `${this.id}-${this.pool.length}`;
			row.hidden = true;
			this.pool.push(row);
			this.layer.append(row);
		}
		while (this.pool.length > wanted) {
			this.pool.pop().remove();
		}
		// The row at index i has the element i % n: what stays in sight keeps its element.
		const n = this.pool.length;
		let active = '';
		const used = new Set();
		for (let i = first; i < last && n; i++) {
			const row = this.pool[i % n];
			used.add(row);
			if (all || row.index !== i || row.hidden) {
				row.index = i;
				row.hidden = false;
				row.setAttribute('aria-rowindex', i + this.offset);
				this.render(row, i);
			}
			row.style.transform = `translateY(${i * this.rowHeight - top}px)`;
			row.classList.toggle('is-active', i === this.active);
			if (i === this.active) {
				active = row.id;
				row.setAttribute('aria-selected', 'true');
			} else {
				row.removeAttribute('aria-selected');
			}
		}
		for (const row of this.pool) {
			if (!used.has(row)) {
				row.hidden = true;
				row.index = -1;
			}
		}
		if (active) {
			this.element.setAttribute('aria-activedescendant', active);
		} else {
			this.element.removeAttribute('aria-activedescendant');
		}
		this.onScroll?.({atTop: this.atTop, x: this.element.scrollLeft});
	}

	activate(index, quiet = false) {
		index = Math.max(0, Math.min(index, this.count - 1));
		if (this.count === 0) {
			return;
		}
		this.active = index;
		this.activeKey = this.keyOf?.(index);
		const at = index * this.rowHeight, top = this.top;
		if (!quiet && at < top) {
			this.scrollTo(at);
		} else if (!quiet && at + this.rowHeight > top + this.height) {
			this.scrollTo(at + this.rowHeight - this.height);
		}
		this.draw();
		this.onActive?.(index);
	}

	// Where somebody is, for restore(): by keys, since rows may come and go meanwhile.
	get place() {
		const first = Math.floor(this.top / this.rowHeight) || 0;
		return {active: this.activeKey, first: this.atTop ? undefined : this.keyOf(first), offset: this.top - first * this.rowHeight,
			hasFocus: this.element.contains(document.activeElement)};
	}

	restore({active, first, offset, hasFocus}) {
		this.measure();
		const at = first === undefined ? -1 : this.find(first);
		if (at >= 0) {
			this.scrollTo(at * this.rowHeight + offset);
		}
		this.active = active === undefined ? -1 : this.find(active);
		this.activeKey = this.active < 0 ? undefined : active;
		if (hasFocus) {
			this.element.focus({preventScroll: true});
		}
		this.draw(true);
	}

	// To the middle, where it is not in sight.
	reveal(index) {
		const at = index * this.rowHeight, top = this.top;
		if (at < top || at + this.rowHeight > top + this.height) {
			this.scrollTo(Math.max(0, at - this.height / 2));
		}
	}

	focus() {
		if (this.active < 0 && this.count) {
			this.activate(Math.ceil(this.top / this.rowHeight));
		}
	}

	key(event) {
		if (event.target !== this.element || event.altKey || event.ctrlKey || event.metaKey) {
			return;
		}
		const page = Math.max(1, Math.floor(this.height / this.rowHeight) - 1);
		const to = {ArrowDown: this.active + 1, ArrowUp: this.active - 1, j: this.active + 1, k: this.active - 1,
			PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.count - 1}[event.key];
		if (to !== undefined) {
			this.activate(to);
			event.preventDefault();
		} else if (event.key === 'Enter' && this.active >= 0 && this.onOpen) {
			this.onOpen(this.active, event);
			event.preventDefault();
		} else if (this.onKey?.(event, this.active)) {
			event.preventDefault();
		}
	}

	click(event) {
		const row = event.target.closest?.('.list-row');
		if (!row || row.parentNode !== this.layer || row.index < 0) {
			return;
		}
		this.activate(row.index, true);
		// Links open as links do: in another tab, for example.
		if (!event.defaultPrevented && !event.target.closest('a, button, input, select') && !String(getSelection())) {
			this.onOpen?.(row.index, event);
		}
	}
}
