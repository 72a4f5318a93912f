// Which workloads there are: the way to their rollouts and to the revisions that their controllers keep. In a
// cluster without annals this is the start.
import {clear, errorBox, h, setText} from '../dom.js';
import {getJson, resourcePath} from '../api.js';
import {List} from '../list.js';
import {setTime, timeOf} from '../time.js';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'; // a tenth of the objects themselves
const KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'];
const GROUPS = ['apps', 'annals.dev'];
const PAGE = 500, ROWS_MAX = 50000;
const PAUSE = 10000; // milliseconds; three watches would be half of the connections that a browser has
const FILTERS = ['namespace', 'kind', 'text'];
const byName = new Intl.Collator('en', {numeric: true}).compare;

// A row of a Table: what kubectl get would print, by the names of columns.
function rowOf({cells, object}, columns, type) {
	const cell = (name) => String(cells[columns[name]] ?? '');
	const {name, namespace, uid, creationTimestamp} = object.metadata;
	// A Deployment and a StatefulSet say 2/3; a DaemonSet has two columns.
	const ready = cell('desired') ? `${cell('ready')}/${cell('desired')}` : cell('ready'), [is, wanted] = ready.split('/').map(Number);
	return {key: `${type.group}/${type.kind}/${namespace}/${name}`, type, name, namespace, uid, ready, isReady: !(is < wanted),
		updated: cell('up-to-date'), created: timeOf(creationTimestamp)};
}

class Workloads {
	constructor(root, params, ctx, place) {
		Object.assign(this, {params, ctx, place, all: [], shown: [], stop: new AbortController()});
		// Those of apps first: annals alone shows one store as apps and as annals.dev, and each object is listed once.
		this.types = GROUPS.flatMap((group) => ctx.about.resources.filter((each) => each.group === group && KINDS.includes(each.kind)));
		this.build(root);
		this.read();
		document.addEventListener('visibilitychange', () => document.hidden || this.read(), {signal: this.stop.signal});
	}

	close() {
		this.stop.abort();
		clearTimeout(this.timer);
		this.list.close();
	}

	build(root) {
		const onchange = () => this.filtersChanged();
		const options = (names) => names.map((text) => h('option', {value: text, text: text || 'all'}));
		this.fields = {
			namespace: h('select', {testid: 'filter-namespace', onchange}, options([''])),
			kind: h('select', {testid: 'filter-kind', onchange}, options(['', ...new Set(this.types.map((each) => each.kind))])),
			text: h('input', {type: 'search', testid: 'filter-text', 'data-filter': '', autocomplete: 'off', spellcheck: 'false',
				placeholder: 'press / to search', oninput: onchange, onkeydown: (event) => {
					if (event.key === 'Enter' || event.key === 'ArrowDown') {
						this.list.element.focus();
						event.preventDefault();
					}
				}}),
		};
		this.count = h('span.count', {role: 'status'});
		this.error = h('div');
		this.empty = h('div.empty');
		this.list = new List({
			label: 'Workloads', testid: 'workloads', headings: ['Workload', 'Kind', 'Namespace', 'Ready', 'Updated', 'Created', 'Revisions'],
			create: () => this.createRow(), render: (row, index) => this.renderRow(row, index), keyOf: (index) => this.shown[index]?.key,
			onOpen: (index, event) => this.ctx.go('rollout', this.paramsOf(this.shown[index]), event),
		});
		const field = (text, name, what = 'label.field') => h(what, {}, h('span', {text}), this.fields[name]);
		root.append(h('h1.sr', {text: 'Workloads'}),
			h('div.filters', {role: 'search', 'aria-label': 'Filter workloads'},
				field('Namespace', 'namespace'), field('Kind', 'kind'), field('Name', 'text', 'label.field.grow'), this.count),
			this.error, h('div.workloads', {}, this.list.element, this.empty));
		this.update(this.params);
	}

	// ---- filters ----

	filtersChanged() {
		const old = this.params.namespace ?? '';
		this.params = Object.fromEntries(FILTERS.map((name) => [name, this.fields[name].value.trim()]));
		this.ctx.put('workloads', this.params);
		this.narrow();
		if (this.isNarrow && old !== this.params.namespace) {
			this.read();
		}
	}

	update(params) {
		const select = this.fields.namespace;
		this.params = params;
		for (const name of new Set([params.namespace, ...this.all.map((each) => each.namespace)])) {
			if (name && ![...select.options].some((each) => each.value === name)) {
				select.insertBefore(h('option', {value: name, text: name}), [...select.options].find((each) => each.value && byName(each.value, name) > 0) ?? null);
			}
		}
		for (const name of FILTERS) {
			if (this.fields[name].value.trim() !== (params[name] ?? '')) {
				this.fields[name].value = params[name] ?? '';
			}
		}
		this.narrow();
	}

	narrow() {
		const {namespace, kind, text = ''} = this.params;
		this.shown = this.all.filter((each) => (!namespace || each.namespace === namespace) && (!kind || each.type.kind === kind) &&
			each.name.includes(text.toLowerCase()));
		this.list.set(this.shown.length);
		setText(this.count, this.isRead ? `${this.shown.length.toLocaleString()} of ${this.all.length.toLocaleString()}` : '');
		this.list.element.hidden = !this.shown.length;
		this.empty.hidden = this.shown.length > 0;
		setText(this.empty, !this.isRead ? 'Reading…' : this.all.length ? 'No workloads match.' : 'There are no workloads.');
	}

	// ---- what there is ----

	async readTable(type, namespace, into) {
		let next = '', columns;
		do {
			const table = await getJson(resourcePath(type, namespace), {accept: TABLE, signal: this.stop.signal, query: {limit: PAGE, continue: next}});
			columns ??= Object.fromEntries((table.columnDefinitions ?? []).map((each, i) => [each.name.toLowerCase(), i]));
			(table.rows ?? []).forEach((row) => into.push(rowOf(row, columns, type)));
			next = into.length < ROWS_MAX ? table.metadata?.continue : '';
		} while (next);
	}

	async readAll(namespace) {
		const all = [], refused = [];
		for (const type of this.types) {
			try {
				await this.readTable(type, namespace, all);
			} catch (error) {
				if (error.status !== 403) {
					throw error; // also a 404: discovery knows the type, so this is no proof that there are none
				}
				refused.push(error);
			}
		}
		if (refused.length && refused.length === this.types.length) {
			throw refused[0];
		}
		const first = new Map(all.slice().reverse().map((each) => [each.uid, each]));
		return [...first.values()].sort((a, b) => byName(a.namespace, b.namespace) || byName(a.name, b.name) || byName(a.key, b.key));
	}

	async read() {
		clearTimeout(this.timer);
		const mine = this.reading = {};
		try {
			const all = await this.readAll(this.isNarrow ? this.params.namespace || this.ctx.about.namespace : '');
			if (mine !== this.reading) {
				return;
			}
			this.isRead = true;
			this.ctx.setLive('none');
			clear(this.error);
			this.all = all;
			this.update(this.params);
			if (this.place) {
				this.list.restore(this.place);
				this.place = null;
			}
		} catch (error) {
			if (error.name === 'AbortError' || error.status === 401 || mine !== this.reading) {
				return;
			}
			if (error.status === 403 && !this.isNarrow) {
				// Who may not read all namespaces reads one.
				this.isNarrow = true;
				this.update({...this.params, namespace: this.params.namespace || this.ctx.about.namespace || 'default'});
				this.ctx.put('workloads', this.params);
				this.read();
				return;
			}
			if (!error.status || error.status >= 500) {
				this.ctx.setLive('lost', error.message);
				setText(this.empty, this.isRead ? this.empty.textContent : 'The workloads could not be read yet.');
			} else {
				clear(this.error).append(errorBox(error, () => this.read()));
				this.empty.hidden = true;
			}
		}
		if (!document.hidden) {
			this.timer = setTimeout(() => this.read(), PAUSE);
		}
	}

	// ---- rows ----

	paramsOf({type: {group, kind}, namespace, name}) {
		return {group, kind, namespace, name};
	}

	createRow() {
		const cell = (name, ...children) => h(`span.${name}`, {role: 'gridcell'}, ...children);
		const p = {link: h('a', {tabindex: '-1'}), kind: cell('kind'), ns: cell('ns'), ready: cell('ready'), updated: cell('updated'), time: h('time'),
			history: h('a', {tabindex: '-1', text: 'revisions'})};
		const row = h('div', {testid: 'workload-row'}, cell('object', p.link), p.kind, p.ns, p.ready, p.updated, cell('made', p.time), cell('more', p.history));
		row.parts = p;
		return row;
	}

	renderRow(row, index) {
		const each = this.shown[index], p = row.parts, params = this.paramsOf(each);
		row.dataset.key = each.key;
		setText(p.link, each.name);
		p.link.href = this.ctx.address('rollout', params);
		setText(p.kind, each.type.kind);
		setText(p.ns, each.namespace);
		setText(p.ready, each.ready);
		p.ready.dataset.state = each.isReady ? 'ready' : 'starting';
		setText(p.updated, each.updated);
		setTime(p.time, each.created);
		p.history.href = this.ctx.address('history', {...params, own: 'true'});
	}
}

let shown = null;

export default {
	title: ({namespace}) => (namespace ? `Workloads of ${namespace}` : 'Workloads'),
	open(root, params, ctx, place) {
		shown = new Workloads(root, params, ctx, place);
		shown.list.measure();
	},
	update(params) {
		shown.update(params);
		return true;
	},
	place: () => shown.place ?? shown.list.place,
	retry: () => shown.read(),
	close() {
		shown?.close();
		shown = null;
	},
};
