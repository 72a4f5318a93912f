// What uses a Provider or a revision, and why a deletion waits. Without a name: the Providers there are.
import {clear, errorBox, h, place, setText} from '../dom.js';
import {follow, resourcePath} from '../api.js';
import {timeElement, timeOf} from '../time.js';
import {isWorkload, listed, podState} from './workload.js';

const PROTECTION = 'annals.dev/provider-protection';
const COLLECTOR = {foregroundDeletion: 'the garbage collector, which deletes what the object owns first',
	orphan: 'the garbage collector, which lets go what the object owns first'};
const ROWS_MAX = 1000;
const FIELDS = {providers: 'spec.providers.', controllerrevisions: 'spec.controllerRevisions.'};
const KINDS = {providers: 'Provider', controllerrevisions: 'ControllerRevision'};
const byName = (a, b) => a.name.localeCompare(b.name, 'en', {numeric: true});

// Why it is kept, in one sentence, from what can be read. users: names of what needs it; pods: how many were made
// from it, which keep nothing.
export function explainDeletion({metadata}, users, canSeeUsers = true, pods = 0) {
	const finalizers = metadata.finalizers ?? [];
	const isGoing = Boolean(metadata.deletionTimestamp);
	const isProtected = finalizers.includes(PROTECTION);
	const others = finalizers.filter((each) => each !== PROTECTION);
	const use = `${listed(users)} ${users.length === 1 ? 'uses' : 'use'} it`;
	const theirs = others.length ? `${isProtected ? 'Then it waits' : 'It waits'} for ${others.map((each) =>
		COLLECTOR[each] ?? `whoever removes the finalizer ${each}`).join(', and for ')}.` : '';
	if (!isGoing) {
		if (!finalizers.length) {
			const all = [users.length ? use : '', pods ? `${pods} ${pods === 1 ? 'pod was' : 'pods were'} made from it` : ''].filter(Boolean);
			return {state: 'free', text: `A deletion would remove it at once${all.length ? `, although ${all.join(' and ')}: nothing protects it` : ''}.`};
		}
		if (isProtected && !canSeeUsers) {
			return {state: 'free', text: 'A deletion would wait until nothing uses it.'};
		}
		return isProtected && users.length ? {state: 'used', text: `A deletion would wait until nothing uses it: ${use}.`}
			: {state: 'free', text: `${isProtected ? 'Nothing uses it. ' : ''}A deletion would end as soon as its finalizers have been removed.`};
	}
	if (isProtected && !canSeeUsers) {
		return {state: 'waits', text: `The deletion waits until nothing uses it. ${theirs}`.trim()};
	}
	if (isProtected && users.length) {
		return {state: 'waits', text: `The deletion waits because ${use}. ${theirs}`.trim()};
	}
	if (isProtected) {
		return {state: 'ends', text: `Nothing uses it any more: its controller removes the finalizer ${PROTECTION} next. ${theirs}`.trim()};
	}
	return others.length ? {state: 'waits', text: `The deletion goes on. ${theirs}`}
		: {state: 'ends', text: 'The deletion ends now: no finalizer is left.'};
}

// What a Dependent says of itself, beyond its phase.
function reasonOf(dependent) {
	const bad = (dependent.status?.conditions ?? []).find((each) => (each.type === 'Broken' && each.status === 'True') ||
		(each.type === 'Ready' && each.status !== 'True'));
	return bad ? bad.message || bad.reason || '' : '';
}

class Following {
	constructor(root, params, ctx) {
		Object.assign(this, {root, params, ctx, stop: new AbortController(), states: {}});
		this.error = h('div');
	}

	close() {
		this.stop.abort();
		cancelAnimationFrame(this.frame);
	}

	// keep: the objects by namespace and name, as take() makes them.
	async follow(what, resource, namespace, query, keep, take, onFail) {
		const key = ({metadata}) => `${metadata.namespace ?? ''}/${metadata.name}`;
		try {
			await follow(resourcePath(resource, namespace), {
				query, signal: this.stop.signal,
				onReset: () => keep.clear(),
				onItems: (items) => items.forEach((item) => keep.set(key(item), take(item))),
				onSynced: () => {
					keep.isSynced = true;
					this.drawSoon();
				},
				onEvent: (type, item) => {
					if (type === 'DELETED') {
						keep.delete(key(item));
					} else {
						keep.set(key(item), take(item));
					}
					this.drawSoon();
				},
				onState: (state, error) => this.setState(what, state, error),
			});
		} catch (error) {
			this.states[what] = 'refused';
			onFail(error);
			this.drawSoon();
		}
	}

	setState(what, state, error) {
		this.states[what] = state;
		this.ctx.setLive(Object.values(this.states).includes('lost') ? 'lost' : state, error?.message);
	}

	drawSoon() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}
}

// A table on a phone is laid out as cards, so it says itself that it is a table.
class Table {
	constructor(labelledby, ...names) {
		this.known = new Map();
		this.body = h('tbody', {role: 'rowgroup'});
		this.element = h('div.grid-box', {}, h('table.grid', {role: 'table', 'aria-labelledby': labelledby},
			h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, names.map((text) => h('th', {role: 'columnheader', scope: 'col', text})))), this.body));
		this.width = names.length;
	}

	// rows: {key, cells}; a cell is a text, or what makes it. A row that is as it was stays the element it is.
	set(rows, otherwise) {
		const known = new Map();
		const elements = rows.slice(0, ROWS_MAX).map(({name, key, cells}) => {
			const row = this.known.get(key) ?? h('tr', {role: 'row', testid: 'usage-row', 'data-name': name}, cells().map((cell, i) => (i
				? h(i === this.width - 1 ? 'td.wide' : 'td', {role: 'cell'}, ...[cell].flat()) : h('th', {role: 'rowheader', scope: 'row'}, cell))));
			known.set(key, row);
			return row;
		});
		const say = (text) => elements.push(h('tr', {role: 'row'}, h('td.empty', {role: 'cell', colspan: this.width, text})));
		if (!rows.length) {
			say(otherwise);
		} else if (rows.length > ROWS_MAX) {
			say(`and ${rows.length - ROWS_MAX} more`);
		}
		this.known = known;
		place(this.body, elements);
	}
}

class Usage extends Following {
	constructor(root, params, ctx) {
		super(root, params, ctx);
		const {resource, namespace, name} = params;
		this.kind = KINDS[resource];
		this.type = this.kind && (ctx.resourceOf('annals.dev', this.kind) ?? ctx.resourceOf('apps', this.kind));
		this.objects = new Map();
		this.users = new Map();
		this.pods = new Map();
		if (!this.type) {
			root.append(errorBox({title: 'Nothing to look for', message: 'Only Providers and ControllerRevisions are used by others, and this cluster has none.'}));
			return;
		}
		this.build();
		const refused = (error) => clear(this.error).append(errorBox(error));
		this.follow('object', this.type, namespace, {fieldSelector: `metadata.name=${name}`}, this.objects, (each) => each, refused);
		const dependents = ctx.resourceOf('annals.dev', 'Dependent');
		if (dependents) {
			this.follow('users', dependents, namespace, {fieldSelector: `${FIELDS[resource]}${name}=true`}, this.users, (each) => each, (error) => {
				this.usersRefused = error;
			});
		} else {
			this.usersRefused = {message: 'This cluster has no Dependents.'};
			this.hasNoDependents = true;
		}
		if (resource === 'controllerrevisions' && name.length <= 63) {
			this.follow('pods', {group: '', version: 'v1', resource: 'pods'}, namespace, {labelSelector: `controller-revision-hash=${name}`}, this.pods, (pod) => ({
				...podState(pod), created: pod.metadata.creationTimestamp}), (error) => {
				this.podsRefused = error;
			});
		}
	}

	build() {
		const {namespace, name} = this.params;
		this.badge = h('span.badge', {hidden: true});
		this.why = h('p.rollout-why', {testid: 'usage-why'});
		this.facts = h('dl.facts');
		this.note = h('p.note', {hidden: true});
		this.count = h('span.soft');
		this.links = h('p.links');
		this.table = new Table('usage-users', 'Used by', 'State', 'Since', 'Why');
		this.root.append(h('section.usage', {testid: 'usage', 'aria-labelledby': 'usage-title'},
			h('header.view-head', {}, h('p.crumb', {text: `${this.kind} in ${namespace}`}),
				h('h1', {id: 'usage-title'}, h('span', {text: name}), this.badge), this.links),
			this.error,
			this.body = h('div', {hidden: true}, this.why, this.facts,
				h('h2', {id: 'usage-users'}, 'What uses it ', this.count), this.note, this.table.element)));
	}

	draw() {
		if (!this.objects.isSynced) {
			return;
		}
		const object = this.objects.values().next().value;
		if (!object) {
			this.body.hidden = true;
			this.badge.hidden = true;
			clear(this.error).append(h('div.message', {role: 'status'}, h('p', {text: this.object
				? `${this.kind} ${this.params.name} is gone.` : `There is no ${this.kind} ${this.params.name} in ${this.params.namespace}.`})));
			this.isMissing = true;
			return;
		}
		if (this.isMissing) {
			this.isMissing = false;
			clear(this.error);
		}
		this.object = object;
		const isReady = this.usersRefused || this.users.isSynced;
		this.body.hidden = false;
		if (isReady) {
			this.drawState(object);
		}
		this.drawFacts(object);
		this.drawRows();
	}

	drawState(object) {
		const users = [...this.users.values()].map((each) => each.metadata.name);
		const {state, text} = explainDeletion(object, users, !this.usersRefused || this.hasNoDependents, this.pods.size);
		setText(this.why, text);
		this.why.dataset.state = {free: 'complete', used: 'moving', waits: 'waiting', ends: 'moving'}[state];
		this.badge.hidden = false;
		this.badge.dataset.state = this.why.dataset.state;
		setText(this.badge, {free: object.metadata.finalizers?.length ? 'free' : 'not protected', used: 'in use', waits: 'deletion waits', ends: 'deletion ends'}[state]);
		if (this.said !== undefined && this.said !== text) {
			this.ctx.announce(text);
		}
		this.said = text;
	}

	drawFacts({metadata, revision}) {
		const deleted = timeOf(metadata.deletionTimestamp), owner = metadata.ownerReferences?.find((each) => each.controller);
		const key = JSON.stringify([metadata.finalizers, deleted, owner, revision]);
		if (this.shownFacts === key) {
			return;
		}
		this.shownFacts = key;
		const fact = (name, ...value) => h('div', {}, h('dt', {text: name}), h('dd', {}, ...value));
		clear(this.facts).append(
			fact('Being deleted', Number.isFinite(deleted) ? h('span', {}, 'since ', timeElement(deleted)) : 'no'),
			fact('Finalizers', metadata.finalizers?.length ? h('span', {}, metadata.finalizers.map((text) => h('code', {text}))) : 'none'),
			revision === undefined ? '' : fact('Revision', String(revision)),
			owner ? fact('Controller', this.ownerLink(owner)) : '');
	}

	ownerLink({apiVersion, kind, name}) {
		const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
		const text = `${kind} ${name}`;
		return isWorkload(group, kind) ? h('a', {text, href: this.ctx.address('rollout', {group, kind, namespace: this.params.namespace, name})}) : text;
	}

	drawRows() {
		const users = [...this.users.values()].map(({metadata, status, ...rest}) => ({
			name: `dependent/${metadata.name}`, time: metadata.creationTimestamp,
			state: metadata.deletionTimestamp ? 'Terminating' : status?.phase ?? 'not looked at yet', why: reasonOf({metadata, status, ...rest}),
		})).sort(byName);
		const pods = [...this.pods.values()].map(({name, text, message, created}) => ({
			name: `pod/${name}`, time: created, state: text, why: message || 'was made from it'})).sort(byName);
		const rows = [...users, ...pods];
		const refused = this.hasNoDependents ? this.podsRefused : this.usersRefused ?? this.podsRefused;
		this.note.hidden = !refused;
		setText(this.note, refused ? `Not all can be read: ${refused.message}` : '');
		setText(this.count, rows.length ? `(${rows.length})` : '');
		this.table.set(rows.map((row) => ({name: row.name, key: JSON.stringify(row), cells: () => [
			row.name, row.state, timeElement(timeOf(row.time)), row.why]})), refused ? 'Nothing that can be seen.' : 'Nothing uses it.');
	}
}

// The Providers there are, those first whose deletion waits.
class Providers extends Following {
	constructor(root, params, ctx) {
		super(root, params, ctx);
		this.providers = new Map();
		this.users = new Map();
		const type = ctx.resourceOf('annals.dev', 'Provider'), dependents = ctx.resourceOf('annals.dev', 'Dependent');
		if (!type || !dependents) {
			root.append(errorBox({title: 'No Providers', message: 'This cluster has no annals.'}));
			return;
		}
		this.filter = h('input', {type: 'search', id: 'usage-filter', 'data-filter': '', autocomplete: 'off', spellcheck: 'false', oninput: () => {
			ctx.put('usage', {...this.params, text: this.filter.value.trim()});
			this.drawSoon();
		}});
		this.filter.value = params.text ?? '';
		this.table = new Table('usage-title', 'Provider', 'Namespace', 'Used by', 'Deletion');
		this.count = h('span.count', {role: 'status'});
		root.append(h('section.usage', {testid: 'usage', 'aria-labelledby': 'usage-title'},
			h('header.view-head', {}, h('h1', {id: 'usage-title', text: 'Providers, and what uses them'})),
			h('div.filters', {}, h('label.field.grow', {}, h('span', {text: 'Name, namespace'}), this.filter), this.count),
			this.error,
			this.table.element));
		const refused = (error) => clear(this.error).append(errorBox(error));
		this.follow('providers', type, '', {}, this.providers, ({metadata}) => ({metadata}), refused);
		this.follow('users', dependents, '', {}, this.users, ({metadata, spec}) => ({
			name: metadata.name, of: (spec?.providers ?? []).filter((each) => (each.kind ?? 'Provider') === 'Provider').map((each) => `${metadata.namespace}/${each.name}`)}), refused);
	}

	draw() {
		if (!this.providers.isSynced || !(this.users.isSynced || this.states.users === 'refused')) {
			return;
		}
		const usersOf = new Map();
		for (const {name, of} of this.users.values()) {
			of.forEach((each) => usersOf.set(each, [...(usersOf.get(each) ?? []), name]));
		}
		const text = this.filter.value.trim().toLowerCase();
		const all = [...this.providers].filter(([key]) => key.toLowerCase().includes(text)).map(([key, object]) => ({
			object, users: (usersOf.get(key) ?? []).sort(), name: object.metadata.name, namespace: object.metadata.namespace,
			deleted: timeOf(object.metadata.deletionTimestamp)}));
		all.sort((a, b) => Number.isFinite(b.deleted) - Number.isFinite(a.deleted) || byName({name: a.namespace}, {name: b.namespace}) || byName(a, b));
		setText(this.count, `${all.length} of ${this.providers.size}`);
		this.table.set(all.map(({object, users, name, namespace, deleted}) => {
			const used = users.length ? listed(users) : 'nothing';
			const why = Number.isFinite(deleted) ? explainDeletion(object, users).text : '';
			return {name: `provider/${name}`, key: JSON.stringify([namespace, name, used, deleted, why]), cells: () => [
				h('a', {text: name, href: this.ctx.address('usage', {resource: 'providers', namespace, name})}), namespace, used,
				why ? [timeElement(deleted), `: ${why}`] : 'no']};
		}), this.providers.size ? 'None has such a name.' : 'There are no Providers.');
	}
}

let shown = null;

export default {
	title: ({resource, name}) => (name ? `What uses ${KINDS[resource] ?? resource} ${name}` : 'Providers'),
	open(root, params, ctx) {
		shown = params.name ? new Usage(root, params, ctx) : new Providers(root, params, ctx);
	},
	close() {
		shown?.close();
		shown = null;
	},
};
