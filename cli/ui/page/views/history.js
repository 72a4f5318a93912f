// What one object was: its changes and revisions, and the difference of any two.
import {follow, getJson, resourcePath} from '../api.js';
import {clear, errorBox, h, setText, visible} from '../dom.js';
import {Diff} from '../diff.js';
import {linesOf} from '../lines.js';
import {List} from '../list.js';
import {partsOf, whoOf} from '../store.js';
import {setTime, setTimeText, timeElement, timeOf} from '../time.js';

const HISTORIES = {group: 'annals.dev', version: 'v1', resource: 'histories'};
const REVISIONS = {group: 'annals.dev', version: 'v1', resource: 'controllerrevisions'};
const HUNKS = 'application/vnd.annals.hunks+json';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const WORKLOADS = ['StatefulSet', 'Deployment', 'DaemonSet'];
const NOTHING = 'none'; // the from of a whole state

let view = null;

class History {
	constructor(root, params, context, place) {
		this.context = context;
		this.params = params;
		this.place = place;
		this.abort = new AbortController();
		this.history = null;
		this.revisions = [];  // {number, name, time, by, cause, isCurrent}, the newest first
		this.rows = [];       // of the list of changes, the newest first
		this.own = params.own === 'true' || context.about.mode === 'plain' ? 'true' : '';
		this.isOwn = Boolean(this.own);
		this.build(root);
	}

	find(name) {
		return this.revisions.find((revision) => revision.name === name);
	}

	numberOf(name) {
		return this.find(name)?.number;
	}

	get subject() {
		const {group, kind, namespace, name} = this.params;
		return {group, kind, namespace, name};
	}

	// As the plugin takes it: deployments.apps, configmaps.
	get type() {
		const {group, kind} = this.params, resource = this.context.resourceOf(group, kind);
		return (resource?.resource ?? kind.toLowerCase()) + (group ? `.${group}` : '');
	}

	build(root) {
		const {kind, namespace, name} = this.params;
		this.chip = h('span.chip.bad', {hidden: true, testid: 'deleted'});
		this.facts = h('div.facts');
		this.links = h('nav.links', {'aria-label': 'Of this object'});
		this.note = h('p.note', {role: 'status'});
		this.list = new List({label: 'Changes, the newest first', testid: 'changes',
			create: () => this.createRow(), render: (row, index) => this.renderRow(row, index),
			keyOf: (index) => this.rows[index]?.key,
			onOpen: (index, event) => (event.shiftKey ? this.pick('from', index) : this.openRow(index)),
			onKey: (event, index) => {
				const end = {f: 'from', t: 'to'}[event.key];
				return Boolean(end) && index >= 0 && this.pick(end, index);
			}});
		this.from = h('select', {testid: 'revision-from', onchange: () => this.choose(this.from.value, this.to.value)});
		this.to = h('select', {testid: 'revision-to', onchange: () => this.choose(this.from.value, this.to.value)});
		this.swap = h('button', {type: 'button', text: '⇄', title: 'Exchange the two', 'aria-label': 'Exchange the two revisions',
			onclick: () => this.from.value !== NOTHING && this.choose(this.to.value, this.from.value)});
		this.diff = new Diff({mode: this.params.mode, loadWhole: () => this.loadHunks('all'),
			onMode: (mode) => {
				this.params.mode = mode;
				this.context.put('history', this.params);
			}});
		this.actions = h('div.actions');
		this.changesTitle = h('span', {text: 'Changes'});
		this.body = h('div.columns', {},
			h('section.changes', {'aria-labelledby': 'changes-title'},
				h('h2', {id: 'changes-title'}, this.changesTitle, h('span', {text: '⇧ Enter: from',
					title: 'Enter: what it changed. Shift and Enter, or f: compare from it. t: compare to it.'})),
				this.list.element),
			h('section', {'aria-label': 'Difference'},
				h('div.diff-bar', {},
					h('label.field', {}, h('span', {text: 'From'}), this.from),
					this.swap,
					h('label.field', {}, h('span', {text: 'To'}), this.to),
					this.diff.tally,
					h('span.end', {}, this.diff.modes)),
				this.diff.element,
				this.actions));
		root.append(
			h('div.title', {},
				h('h1', {testid: 'history-title'}, h('span.kind', {text: kind}), ' ', visible(namespace ? `${namespace}/${name}` : name)),
				this.chip, this.links, this.facts),
			this.note, this.body);
		this.fillLinks();
		this.list.measure();
	}

	fillLinks() {
		const {group, kind, namespace, name} = this.subject, {context} = this;
		clear(this.links).append(
			...(WORKLOADS.includes(kind) ? [h('a', {href: context.address('rollout', {group, kind, namespace, name}), text: 'Rollout'})] : []),
			...(context.about.mode !== 'plain' && WORKLOADS.includes(kind) ? [h('a', {
				href: context.address('history', this.isOwn ? this.subject : {...this.subject, own: 'true'}),
				text: this.isOwn ? 'Recorded revisions' : 'Its own revisions'})] : []),
			...(context.about.mode === 'plain' ? [] : [h('a', {text: 'In the timeline',
				href: context.address('timeline', {namespace, kind: this.type, text: name})})]));
	}

	// ---- what there is ----

	async start() {
		if (this.isOwn) {
			await this.readOwn();
			return;
		}
		const {group, kind, namespace, name} = this.subject;
		const {signal} = this.abort;
		const fieldSelector = `spec.subject.group=${group},spec.subject.kind=${kind},spec.subject.namespace=${namespace},spec.subject.name=${name}`;
		this.context.setLive('loading');
		this.diff.say('Reading…');
		try {
			await follow(resourcePath(HISTORIES, namespace), {query: {fieldSelector}, signal,
				onReset: () => (this.found = []),
				onItems: (items) => this.found.push(...items),
				onSynced: () => this.took(this.found[0] ?? null),
				onEvent: (type, object) => this.took(type === 'DELETED' ? null : object),
				onState: (state, error) => {
					if (error && !this.revisions.length) {
						this.diff.say('The history could not be read yet.');
					}
					this.context.setLive(state, error?.message);
				}});
		} catch (error) {
			if (signal.aborted) {
				return;
			}
			this.context.setLive('none');
			if (error.status === 403) {
				await this.readOwn(`You may not read recorded histories (${error.message}).`);
			} else {
				this.fail(error); // also a 404: discovery knows the type, so this is no proof that nothing was recorded
			}
		}
	}

	fail(error) {
		clear(this.body).append(errorBox(error, () => location.reload()));
	}

	async took(history) {
		if (!history) {
			if (this.history) {
				setText(this.note, 'This history has just been deleted.');
			} else {
				await this.readOwn('No history of this object has been recorded.');
			}
			return;
		}
		const before = this.history?.status?.totalChanges;
		this.history = history;
		this.isOwn = false;
		if (before === undefined) {
			this.read();
			return;
		}
		const {changes = [], totalChanges, revision: current, revisions: count} = history.status ?? {};
		const news = changes.slice(Math.max(0, changes.length - (totalChanges - before)));
		if (news.length) {
			const newest = news.at(-1);
			this.context.announce(`${newest.type}, by ${whoOf(newest)}`);
		}
		// The changes say which revisions came. Which have gone nobody says: then they are read again.
		const byName = new Map(this.revisions.map((each) => [each.name, each]));
		for (const change of news.filter((each) => each.revision)) {
			byName.set(change.revision, {number: change.number, name: change.revision, time: timeOf(change.time), by: whoOf(change), cause: change.cause});
		}
		for (const each of byName.values()) {
			each.isCurrent = each.name === current?.name;
		}
		this.setRevisions([...byName.values()]);
		// A reading that began before may not hold them yet.
		if (byName.size !== count || this.isReading) {
			this.read();
		}
	}

	// Now, or a second after the last time.
	read() {
		if (this.reading) {
			return;
		}
		this.reading = setTimeout(async () => {
			this.reading = 0;
			this.isReading = true;
			this.lastRead = Date.now();
			try {
				await this.readRevisions();
			} catch (error) {
				if (!this.abort.signal.aborted) {
					this.diff.say('', error, () => this.read());
				}
			}
			this.isReading = false;
		}, Math.max(0, (this.lastRead ?? 0) + 1000 - Date.now()));
	}

	// Their numbers and names alone: as rows of a table, which hold no data.
	async readRevisions() {
		const {namespace, uid} = this.history.metadata;
		const found = [];
		let next = '', column = -1;
		do {
			const table = await getJson(resourcePath(REVISIONS, namespace), {accept: TABLE, signal: this.abort.signal,
				query: {fieldSelector: `controller.uid=${uid}`, limit: 500, continue: next, includeObject: 'Metadata'}});
			column = column < 0 ? (table.columnDefinitions ?? []).findIndex((each) => each.name === 'Revision') : column;
			for (const {cells, object} of table.rows ?? []) {
				found.push({number: Number(cells[column]), name: object.metadata.name, time: timeOf(object.metadata.creationTimestamp)});
			}
			next = table.metadata?.continue ?? '';
		} while (next);
		const current = this.history.status?.revision?.name;
		const changeOf = new Map();
		for (const change of this.history.status?.changes ?? []) {
			if (change.revision) {
				changeOf.set(change.revision, change);
			}
		}
		this.setRevisions(found.map((revision) => {
			const change = changeOf.get(revision.name);
			return {...revision, isCurrent: revision.name === current, time: change ? timeOf(change.time) : revision.time,
				by: change ? whoOf(change) : '', cause: change?.cause};
		}));
	}

	async readOwn(why = '') {
		this.isOwn = true;
		this.fillLinks();
		const {namespace, name} = this.subject;
		try {
			const {items, source} = await getJson('revisions', {signal: this.abort.signal,
				query: {type: this.type, namespace, name, own: this.own}});
			setText(this.note, why && items.length ? `${why} These are the revisions that its controller keeps.`
				: source === 'own' && items.length ? 'The revisions that its controller keeps.' : why);
			this.setRevisions(items.map((each) => ({...each, time: timeOf(each.time)})));
		} catch (error) {
			if (!this.abort.signal.aborted) {
				setText(this.note, why);
				if (error.status === 404 && why) {
					this.setRevisions([]);
				} else {
					this.fail(error);
				}
			}
		}
	}

	setRevisions(revisions) {
		this.revisions = revisions.sort((a, b) => b.number - a.number);
		this.fillRows();
		this.fillFacts();
		this.fillSelects();
		if (this.place) {
			this.list.restore(this.place);
			this.place = null;
		}
		if (this.revisions.length === 0) {
			this.diff.say('It has no revisions.');
			return;
		}
		this.select();
	}

	// Changes, and below them the revisions that no listed change has made.
	fillRows() {
		const changes = this.isOwn ? [] : this.history?.status?.changes ?? [];
		const total = Math.max(this.history?.status?.totalChanges ?? 0, changes.length);
		const named = new Set(changes.map((change) => change.revision));
		const rows = changes.map((change, i) => ({key: `c${total - changes.length + i}`, type: change.type, time: timeOf(change.time), by: whoOf(change),
			paths: partsOf(change), cause: change.cause ?? '', revision: change.revision, number: change.number}));
		const older = this.revisions.filter((revision) => !named.has(revision.name)).map((revision) => ({key: `r${revision.name}`, type: '',
			time: revision.time, by: revision.by ?? '', paths: '', cause: revision.cause ?? '', revision: revision.name, number: revision.number,
			isCurrent: this.isOwn && revision.isCurrent}));
		this.rows = rows.reverse().concat(older);
		this.list.set(this.rows.length);
		setText(this.changesTitle, this.isOwn ? 'Revisions' : 'Changes');
	}

	fillFacts() {
		const status = this.history?.status, n = this.revisions.length;
		const deletion = this.isOwn ? NaN : timeOf(status?.deletionTime);
		this.chip.hidden = !Number.isFinite(deletion);
		if (Number.isFinite(deletion)) {
			clear(this.chip).append('deleted ', timeElement(deletion));
		}
		const parts = [h('span', {text: `${n.toLocaleString()} ${n === 1 ? 'revision' : 'revisions'}`})];
		if (!this.isOwn && status) {
			const total = status.totalChanges ?? this.rows.length, listed = (status.changes ?? []).length;
			const lost = total > listed ? `, of which the last ${listed} are listed` : '';
			parts.push(h('span', {text: `${total.toLocaleString()} ${total === 1 ? 'change' : 'changes'}${lost}`}), h('span', {text: status.apiVersion ?? ''}));
			if (status.uid) {
				parts.push(h('span.mono', {text: `uid ${status.uid}`}));
			}
		} else if (this.params.group) {
			parts.push(h('span', {text: this.params.group}));
		}
		clear(this.facts).append(...parts);
	}

	// ---- which two ----

	fillSelects() {
		const options = (select, isFrom) => {
			const all = this.revisions.map(({name, number, isCurrent, time, by}) => {
				const option = h('option', {value: name});
				setTimeText(option, time, (when) => `${number}${isCurrent ? ' (last)' : ''} · ${when}${by ? ` · ${by}` : ''}`);
				return option;
			});
			if (isFrom && !this.isOwn) {
				all.push(h('option', {value: NOTHING, text: '— nothing: the whole state'}));
			}
			select.replaceChildren(...all);
		};
		options(this.from, true);
		options(this.to, false);
	}

	// The name of the revision that has a number, or had it when its change was recorded.
	nameOf(number) {
		const n = Number(number);
		return this.revisions.find((revision) => revision.number === n)?.name ??
			this.rows.find((row) => row.number === n && this.find(row.revision))?.revision;
	}

	// What was before a change: the state of the change before it, or where that is not known, of the number before.
	before(index) {
		const row = this.rows[index];
		if (row?.type === 'Created') {
			return NOTHING;
		}
		for (let i = index + 1; i < this.rows.length; i++) {
			const name = this.rows[i].revision;
			if (name && name !== row.revision && this.find(name)) {
				return name;
			}
		}
		return NOTHING;
	}

	// The two that the address names; or else the last change.
	select() {
		const {params} = this;
		let to = params.to ? this.nameOf(params.to) : this.revisions.find((each) => each.isCurrent)?.name ?? this.revisions[0].name;
		const notes = [], gone = (number) => `There is no revision ${number} any more: it was removed, or an undo has given it a newer number.`;
		if (!to) {
			notes.push(gone(params.to));
			to = this.revisions[0].name;
		}
		let from = params.from === NOTHING ? NOTHING : params.from ? this.nameOf(params.from) : null;
		if (params.from && !from) {
			notes.push(gone(params.from));
		}
		if (!from) {
			const numbered = params.to ? this.rows.findIndex((row) => row.number === Number(params.to)) : -1;
			const at = numbered >= 0 ? numbered : this.rows.findIndex((row) => row.revision === to);
			from = this.before(at);
		}
		if (notes.length) {
			setText(this.note, notes.join(' '));
		}
		this.compare(from, to);
	}

	// By hand: from now on the address says which.
	choose(from, to) {
		this.params.from = from === NOTHING ? NOTHING : this.numberOf(from);
		this.params.to = this.numberOf(to);
		this.context.put('history', this.params);
		this.compare(from, to);
	}

	openRow(index) {
		const row = this.rows[index];
		if (row.type === 'Deleted' || (row.type && !row.revision)) {
			// What was lost: the last state before.
			const last = this.rows.slice(index + 1).find((each) => this.find(each.revision));
			if (last) {
				this.choose(NOTHING, last.revision);
			}
		} else if (this.find(row.revision)) {
			this.choose(this.before(index), row.revision);
		} else {
			this.context.announce('This revision is no longer kept');
			setText(this.note, `Revision ${row.number} is no longer kept.`);
		}
	}

	pick(end, index) {
		const {revision} = this.rows[index];
		if (this.find(revision)) {
			this.choose(end === 'from' ? revision : this.from.value, end === 'to' ? revision : this.to.value);
			this.context.announce(`Compared ${end} revision ${this.numberOf(revision)}`);
		}
		return true;
	}

	async compare(from, to) {
		if (from === NOTHING && this.isOwn) {
			from = to; // the states of others' revisions are parts that only their difference shows
		}
		this.from.value = from;
		this.to.value = to;
		this.ends = {from, to};
		this.swap.disabled = from === NOTHING;
		this.list.draw(true);
		this.fillActions();
		const key = `${from} ${to}`;
		if (key === this.shownKey) {
			return;
		}
		this.shownKey = key;
		this.loading?.abort();
		this.loading = new AbortController();
		const {signal} = this.loading;
		// Something that is fast does not flicker.
		const slow = setTimeout(() => this.diff.say('Reading…'), 150);
		try {
			if (from === NOTHING) {
				const {data} = await getJson(resourcePath(REVISIONS, this.history.metadata.namespace, to), {signal});
				clearTimeout(slow);
				this.diff.setLabel(`The state of revision ${this.numberOf(to)}`);
				this.diff.showState(linesOf(data));
			} else {
				const hunks = await this.loadHunks(3, signal);
				clearTimeout(slow);
				this.diff.setLabel(`Difference of revisions ${this.numberOf(from)} and ${this.numberOf(to)}`);
				this.diff.show(hunks);
				if (this.revisions.length === 1 && this.isOwn) {
					this.diff.say('There is one revision, and nothing to compare it with.');
				}
			}
		} catch (error) {
			clearTimeout(slow);
			if (error.name !== 'AbortError') {
				this.shownKey = '';
				this.diff.say('', error, () => this.compare(from, to));
			}
		}
	}

	loadHunks(context, signal = this.abort.signal) {
		const {from, to} = this.ends;
		if (this.isOwn) {
			const {namespace, name} = this.subject;
			return getJson('diff', {signal, query: {type: this.type, namespace, name, context, from: this.numberOf(from), to: this.numberOf(to),
				own: this.own}});
		}
		return getJson(resourcePath(REVISIONS, this.history.metadata.namespace, to, 'diff'), {signal, accept: HUNKS, query: {from, context}});
	}

	// Going back to what is looked at.
	async fillActions() {
		const {to} = this.ends, revision = this.find(to);
		const deleted = !this.isOwn && Boolean(this.history?.status?.deletionTime);
		const key = `${to} ${revision?.number} ${revision?.isCurrent} ${deleted}`;
		if (!revision || key === this.actionsKey) {
			return;
		}
		this.actionsKey = key;
		const {actions} = await import('./write.js');
		if (key === this.actionsKey && !this.abort.signal.aborted) {
			clear(this.actions).append(actions({ctx: this.context, ...this.subject, resource: this.type.split('.')[0], revision: revision.number,
				isCurrent: Boolean(revision.isCurrent), isDeleted: deleted, own: this.isOwn, onDone: () => this.afterWrite()}));
		}
	}

	// The revision that was written again has a new number. What is shown is the change that the write made.
	afterWrite() {
		this.params.from = this.params.to = undefined;
		this.context.put('history', this.params);
		setText(this.note, '');
		if (this.isOwn) {
			this.readOwn();
		} else {
			this.select();
		}
	}

	// ---- rows ----

	createRow() {
		const row = h('div', {testid: 'history-row'});
		row.parts = {word: h('span'), number: h('b'), time: timeElement(NaN), mark: h('span.mark'), by: h('span.by.rest'),
			paths: h('span.paths.rest'), cause: h('span.cause.soft.rest')};
		const {word, number, time, mark, by, paths, cause} = row.parts;
		row.append(h('span.ends', {role: 'gridcell'}, number, word),
			h('span', {role: 'gridcell'}, h('span.line', {}, mark, by, time), h('span.line', {}, paths), h('span.line', {}, cause)));
		return row;
	}

	renderRow(element, index) {
		const row = this.rows[index], p = element.parts;
		const end = row.revision && row.type !== 'Deleted' ? row.revision === this.ends?.to ? 'to' : row.revision === this.ends?.from ? 'from' : '' : '';
		setText(p.number, row.number || '–');
		setText(p.word, end);
		setText(p.mark, row.type || (row.isCurrent ? 'Current' : 'Revision'));
		p.mark.dataset.type = row.type;
		setText(p.by, row.by);
		p.by.title = visible(row.by);
		setTime(p.time, row.time);
		setText(p.paths, row.paths);
		p.paths.title = visible(row.paths).replaceAll(', ', '\n');
		setText(p.cause, row.cause || (row.revision && !this.find(row.revision) && row.number < this.revisions[0]?.number ? 'no longer kept' : ''));
		p.cause.title = visible(row.cause);
		element.classList.toggle('is-end', Boolean(end));
	}

	close() {
		this.abort.abort();
		this.loading?.abort();
		clearTimeout(this.reading);
		this.list.close();
		this.diff.close();
	}
}

export default {
	title({kind, namespace, name}) {
		return visible(`${kind} ${namespace ? `${namespace}/` : ''}${name}`);
	},

	async open(root, params, context, place) {
		view = new History(root, params, context, place);
		view.start(); // goes on for as long as the view is open
	},

	// Back and forward among revisions of the same object.
	update(params) {
		const same = ['group', 'kind', 'namespace', 'name', 'own'].every((name) => (params[name] ?? '') === (view.params[name] ?? ''));
		if (same) {
			if (params.mode && params.mode !== view.diff.mode) {
				view.diff.setMode(params.mode);
			}
			view.params = params;
			if (view.revisions.length) {
				view.select();
			}
		}
		return same;
	},

	place: () => view.place ?? view.list.place,

	close() {
		view.close();
	},
};
