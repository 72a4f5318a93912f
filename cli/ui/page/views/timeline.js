// What was changed, of everything that is recorded, the newest first, as it happens.
import {follow, resourcePath} from '../api.js';
import {clear, errorBox, h, setText} from '../dom.js';
import {List} from '../list.js';
import {Changes, filterOf, namesOfKind, partsOf, whoOf} from '../store.js';
import {setTime, sinceOf} from '../time.js';

const HISTORIES = {group: 'annals.dev', version: 'v1', resource: 'histories'};
const SINCE = [['', 'always'], ['15m', '15 minutes'], ['1h', 'an hour'], ['12h', '12 hours'], ['24h', 'a day'], ['7d', '7 days'], ['30d', '30 days']];
const SUGGESTIONS = 200; // in a field's list
const FILTERS = ['namespace', 'kind', 'by', 'text', 'since'];

let view = null; // of which there is one at a time

class Timeline {
	constructor(root, params, context, place) {
		this.context = context;
		this.params = params;
		this.place = place;
		this.store = new Changes();
		this.shown = [];
		this.waiting = 0; // new changes above what is in sight
		this.isListed = false;
		this.abort = new AbortController();
		this.build(root);
		// What was within the last hour is not for ever.
		this.clock = setInterval(() => this.params.since && this.isListed && (this.makeFilter(), this.refresh()), 30000);
	}

	build(root) {
		this.fields = {};
		const field = (name, label, testid, attributes = {}) => {
			const input = h('input', {type: 'search', autocomplete: 'off', spellcheck: 'false', testid, maxlength: '300', ...attributes,
				oninput: () => this.filtersChanged(), onkeydown: (event) => this.fieldKey(event)});
			this.fields[name] = input;
			return h(name === 'text' ? 'label.field.grow' : 'label.field', {}, h('span', {text: label}), input);
		};
		const suggested = (name) => {
			const list = h('datalist', {id: `known-${name}`});
			this.known ??= {};
			this.known[name] = {list, values: new Set()};
			return list;
		};
		this.fields.since = h('select', {testid: 'filter-since', onchange: () => this.filtersChanged()},
			SINCE.map(([value, text]) => h('option', {value, text})));
		this.count = h('span.count');
		this.note = h('p.note', {role: 'status'});
		this.list = new List({
			label: 'Changes, the newest first', testid: 'timeline',
			headings: ['When', 'What', 'Object', 'Revision', 'By', 'Parts, cause'],
			create: () => this.createRow(), render: (row, index) => this.renderRow(row, index),
			keyOf: (index) => this.shown[index]?.key,
			onOpen: (index, event) => this.open(index, event),
			onKey: (event) => event.key === 'Escape' && this.showNewest(),
			onScroll: ({atTop}) => atTop && this.setWaiting(0),
		});
		this.newer = h('button.primary.newer', {type: 'button', testid: 'new-changes', hidden: true, onclick: () => this.showNewest()});
		this.empty = h('div.empty', {hidden: true});
		root.append(
			h('h1.sr', {text: 'Timeline'}),
			h('div.filters', {role: 'search', 'aria-label': 'Filter changes'},
				field('namespace', 'Namespace', 'filter-namespace', {list: 'known-namespace', placeholder: 'all'}), suggested('namespace'),
				field('kind', 'Kind', 'filter-kind', {list: 'known-kind', placeholder: 'all'}), suggested('kind'),
				field('by', 'By', 'filter-by', {list: 'known-by', placeholder: 'anybody'}), suggested('by'),
				h('label.field', {}, h('span', {text: 'Since'}), this.fields.since),
				field('text', 'Name, path or cause', 'filter-text', {'data-filter': true, placeholder: 'press / to search'}),
				this.count),
			this.note,
			h('div.timeline', {}, this.newer, this.list.element, this.empty));
		this.fillFields();
	}

	// ---- filters ----

	fillFields() {
		for (const name of FILTERS) {
			const value = this.params[name] ?? '', field = this.fields[name];
			if (name === 'since' && ![...field.options].some((option) => option.value === value)) {
				field.append(h('option', {value, text: Number.isNaN(sinceOf(value)) ? `${value} (not a time)` : value}));
			}
			if (field.value !== value) {
				field.value = value;
			}
		}
	}

	// Each letter changes what is shown; the address follows, without a step of Back for each letter.
	filtersChanged() {
		const isElsewhere = this.isNarrow && this.fields.namespace.value.trim() !== this.listedNamespace;
		this.params = Object.fromEntries(FILTERS.map((name) => [name, this.fields[name].value.trim()]));
		this.context.put('timeline', this.params);
		this.narrow();
		if (isElsewhere) {
			clearTimeout(this.later);
			this.later = setTimeout(() => this.follow(), 400);
		}
	}

	fieldKey(event) {
		if (event.key === 'Escape' && event.target.value) {
			event.target.value = '';
			this.filtersChanged();
			event.preventDefault();
		} else if (event.key === 'Enter' || (event.key === 'ArrowDown' && !event.target.list)) {
			this.list.element.focus();
			event.preventDefault();
		}
	}

	makeFilter() {
		const since = sinceOf(this.params.since);
		this.isMeant = filterOf({...this.params, since: Number.isNaN(since) ? 0 : since}, this.context.about.resources);
	}

	narrow() {
		this.makeFilter();
		this.shown = this.store.sorted.filter(this.isMeant);
		this.list.set(this.shown.length);
		this.list.scrollTo(0);
		this.setWaiting(0);
		this.tell();
		this.context.announce(this.count.textContent);
	}

	suggest(entries) {
		const add = (name, value) => {
			const known = this.known[name];
			if (value && known.values.size < SUGGESTIONS && !known.values.has(value)) {
				known.values.add(value);
				known.list.append(h('option', {value}));
			}
		};
		for (const {subject, change} of entries) {
			add('namespace', subject.namespace);
			add('kind', namesOfKind(this.context.about.resources, subject)[subject.group ? 1 : 0]);
			add('by', change.user);
		}
	}

	// ---- live ----

	async follow() {
		this.abort.abort();
		this.abort = new AbortController();
		const {signal} = this.abort;
		const narrow = this.isNarrow ? this.params.namespace || this.context.about.namespace || 'default' : '';
		this.listedNamespace = narrow;
		this.context.setLive('loading');
		this.isListed = false;
		this.lost = null;
		this.tell();
		try {
			await follow(resourcePath(HISTORIES, narrow), {signal,
				onReset: () => {
					this.isListed = false;
					this.store.begin();
				},
				onItems: (items) => this.took(this.store.take(items)),
				onSynced: () => {
					this.store.end();
					this.isListed = true;
					this.refresh();
					if (this.place) {
						this.list.restore(this.place);
						this.place = null;
					}
				},
				onEvent: (type, object) => {
					if (type === 'DELETED') {
						this.store.forget(object);
						this.refresh();
					} else {
						this.took(this.store.take([object]));
					}
				},
				onState: (state, error) => {
					this.lost = error;
					this.context.setLive(state, error?.message);
					this.tell();
				},
			});
		} catch (error) {
			if (signal.aborted) {
				return;
			}
			if (error.status === 403 && !narrow) {
				// Who may not read all namespaces reads one.
				this.isNarrow = true;
				if (!this.params.namespace) {
					this.fields.namespace.value = this.context.about.namespace || 'default';
					this.filtersChanged();
				}
				clearTimeout(this.later);
				this.follow();
				return;
			}
			this.context.setLive('none');
			this.isListed = true;
			clear(this.empty).append(errorBox(error, () => this.follow()));
			this.empty.hidden = false;
			this.list.element.hidden = true;
		}
	}

	took(added) {
		if (added.length === 0) {
			return;
		}
		this.suggest(added);
		// While a list is read, its pages come in the order of names: what is shown is put in order at each.
		if (!this.isListed) {
			this.refresh();
			return;
		}
		const meant = added.filter(this.isMeant);
		if (meant.length) {
			const top = this.list.atTop;
			this.fresh = new Set(meant.map((entry) => entry.key));
			const before = this.shown[0];
			this.shown = this.store.sorted.filter(this.isMeant);
			this.list.set(this.shown.length);
			if (!top) {
				const at = this.shown.indexOf(before);
				this.list.shift(Math.max(at, 0));
				this.setWaiting(this.waiting + meant.length);
			}
			this.announceSome(meant);
		}
		this.tell();
	}

	// At most one sentence every few seconds: many changes are a number.
	announceSome(entries) {
		this.unsaid = (this.unsaid ?? 0) + entries.length;
		const [{change, subject}] = entries;
		this.sentence = `${change.type}: ${subject.kind} ${subject.name}, by ${whoOf(change)}`;
		this.saying ??= setTimeout(() => {
			this.context.announce(this.unsaid === 1 ? this.sentence : `${this.unsaid} new changes`);
			this.saying = undefined;
			this.unsaid = 0;
		}, 1500);
	}

	refresh() {
		this.shown = this.store.sorted.filter(this.isMeant);
		this.list.set(this.shown.length);
		this.tell();
	}

	setWaiting(n) {
		this.waiting = n;
		this.newer.hidden = n === 0;
		setText(this.newer, `${n} new ${n === 1 ? 'change' : 'changes'} ↑`);
	}

	showNewest() {
		this.list.scrollTo(0);
		if (this.list.count) {
			this.list.activate(0);
		}
		this.setWaiting(0);
		this.list.element.focus();
		return true;
	}

	tell() {
		const all = this.store.sorted.length, n = this.shown.length;
		const isUnknown = !this.isListed && !all;
		setText(this.count, isUnknown ? '' : `${n === all ? n.toLocaleString() : `${n.toLocaleString()} of ${all.toLocaleString()}`} ${all === 1 ? 'change' : 'changes'}`);
		const notes = [];
		if (Number.isNaN(sinceOf(this.params.since))) {
			notes.push(`“${this.params.since}” is not a time: write 90m, 12h, 7d, or 2026-01-02T03:04:05Z.`);
		}
		if (this.isNarrow) {
			notes.push(`You may not read the histories of all namespaces. This is namespace ${this.listedNamespace}.`);
		}
		if (this.store.dropped) {
			notes.push(`${this.store.dropped.toLocaleString()} older changes are not shown.`);
		}
		if (this.store.missed) {
			notes.push(`${this.store.missed.toLocaleString()} changes came and went while the connection was lost.`);
		}
		setText(this.note, notes.join(' '));
		this.empty.hidden = n > 0;
		this.list.element.hidden = n === 0;
		if (n === 0) {
			clear(this.empty).append(...(!this.isListed ? [h('p', {text: this.lost ? 'The changes could not be read yet.' : 'Reading…'})] : all ? [
				h('p', {text: 'No changes match.'}),
				h('button', {type: 'button', text: 'Show all', onclick: () => {
					this.params = {};
					this.fillFields();
					this.filtersChanged();
				}})] : [
				h('p', {text: 'Nothing has been recorded yet.'}),
				h('p', {}, 'A Recorder names what is recorded: ', h('code', {text: 'kubectl explain recorder.spec'}))]));
		}
	}

	// ---- rows ----

	createRow() {
		const cell = (name, ...children) => h(`span.${name}`, {role: 'gridcell'}, ...children);
		const row = h('div', {testid: 'change-row'});
		row.parts = {time: h('time'), mark: h('span.mark'), kind: h('span.kind'), ns: h('span.ns'), link: h('a', {tabindex: '-1'}),
			number: cell('number'), by: cell('by'), paths: h('span.paths'), cause: h('span.cause')};
		const {time, mark, kind, ns, link, number, by, paths, cause} = row.parts;
		row.append(cell('time', time), cell('type', mark), cell('object', kind, ' ', ns, link), number, by, cell('what', paths, cause));
		row.addEventListener('animationend', () => row.classList.remove('is-new'));
		return row;
	}

	renderRow(row, index) {
		const entry = this.shown[index], {change, subject} = entry, p = row.parts;
		setTime(p.time, entry.time || NaN);
		setText(p.mark, change.type);
		p.mark.dataset.type = change.type;
		setText(p.kind, subject.kind);
		p.kind.title = subject.group ? `${subject.kind}.${subject.group}` : subject.kind;
		setText(p.ns, subject.namespace ? `${subject.namespace}/` : '');
		setText(p.link, subject.name);
		p.link.href = this.addressOf(entry);
		p.link.title = subject.namespace ? `${subject.namespace}/${subject.name}` : subject.name;
		setText(p.number, change.number || '');
		p.number.title = change.number ? `revision ${change.number}` : '';
		const who = whoOf(change);
		setText(p.by, who);
		p.by.title = who;
		const paths = partsOf(change);
		setText(p.paths, paths);
		setText(p.cause, change.cause ?? '');
		p.paths.parentNode.title = p.paths.textContent.replaceAll(', ', '\n') + (change.cause ? `\n${p.cause.textContent}` : '');
		row.dataset.key = entry.key;
		row.classList.toggle('is-new', Boolean(this.fresh?.delete(entry.key)));
	}

	// Of a change: the difference that it made. The history finds what was before.
	paramsOf({subject, change}) {
		return {group: subject.group ?? '', kind: subject.kind, namespace: subject.namespace ?? '', name: subject.name,
			to: change.number || undefined};
	}

	addressOf(entry) {
		return this.context.address('history', this.paramsOf(entry));
	}

	open(index, event) {
		this.context.go('history', this.paramsOf(this.shown[index]), event);
	}

	close() {
		this.abort.abort();
		clearTimeout(this.later);
		clearInterval(this.clock);
		clearTimeout(this.saying);
		this.list.close();
	}
}

export default {
	title(params) {
		return params.namespace ? `Timeline of ${params.namespace}` : 'Timeline';
	},

	async open(root, params, context, place) {
		view = new Timeline(root, params, context, place);
		view.makeFilter();
		view.list.measure();
		view.follow(); // goes on for as long as the view is open
	},

	// Back, forward, or a link to other filters.
	update(params) {
		view.params = params;
		view.fillFields();
		view.narrow();
		if (view.isNarrow && (params.namespace ?? '') !== view.listedNamespace) {
			view.follow();
		}
		return true;
	},

	// One that waits to be restored is still where somebody is.
	place: () => view.place ?? view.list.place,

	close() {
		view.close();
	},
};
