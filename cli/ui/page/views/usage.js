// What uses a Provider or a revision, and why a deletion waits. Without a name: the Providers there are.
import {clear, errorBox, h, place, setText} from '../dom.js';
import {timeElement, timeOf} from '../time.js';
import {Following} from './following.js';
import {isWorkload, listed, podState} from './workload.js';

const PROTECTION = 'annals.dev/provider-protection';
const COLLECTOR = {foregroundDeletion: 'the garbage collector, which deletes what the object owns first',
	orphan: 'the garbage collector, which lets go what the object owns first'};
const ROWS_MAX = 1000;
const KINDS = {providers: ['Provider', 'spec.providers.'], controllerrevisions: ['ControllerRevision', 'spec.controllerRevisions.']};
const byName = new Intl.Collator('en', {numeric: true}).compare;

// Why it is kept, in one sentence, from what can be read. users: names of what needs it; pods: how many were made
// from it, which keep nothing.
export function explainDeletion({metadata}, users, canSeeUsers = true, pods = 0) {
	const finalizers = metadata.finalizers ?? [], others = finalizers.filter((each) => each !== PROTECTION);
	const isProtected = others.length < finalizers.length;
	const use = `${listed(users)} ${users.length === 1 ? 'uses' : 'use'} it`;
	const is = (state, ...parts) => ({state, text: parts.filter(Boolean).join(' ')});
	if (!metadata.deletionTimestamp) {
		if (!finalizers.length) {
			const all = [users.length && use, pods && `${pods} ${pods === 1 ? 'pod was' : 'pods were'} made from it`].filter(Boolean);
			return is('free', `A deletion would remove it at once${all.length ? `, although ${all.join(' and ')}: nothing protects it` : ''}.`);
		}
		if (isProtected && !canSeeUsers) {
			return is('free', 'A deletion would wait until nothing uses it.');
		}
		return isProtected && users.length ? is('used', `A deletion would wait until nothing uses it: ${use}.`)
			: is('free', isProtected && 'Nothing uses it.', 'A deletion would end as soon as its finalizers have been removed.');
	}
	const names = others.map((each) => COLLECTOR[each] ?? `whoever removes the finalizer ${each}`);
	const theirs = names.length && `${isProtected ? 'Then it waits' : 'It waits'} for ${names.join(', and for ')}.`;
	if (isProtected) {
		return !canSeeUsers ? is('waits', 'The deletion waits until nothing uses it.', theirs)
			: users.length ? is('waits', `The deletion waits because ${use}.`, theirs)
				: is('ends', `Nothing uses it any more: its controller removes the finalizer ${PROTECTION} next.`, theirs);
	}
	return theirs ? is('waits', 'The deletion goes on.', theirs) : is('ends', 'The deletion ends now: no finalizer is left.');
}

// What a Dependent says of itself, beyond its phase.
function reasonOf({status}) {
	const bad = (status?.conditions ?? []).find((each) => (each.type === 'Broken' && each.status === 'True') || (each.type === 'Ready' && each.status !== 'True'));
	return bad?.message || bad?.reason || '';
}

// A table on a phone is laid out as cards, so it says itself that it is a table.
class Table {
	constructor(labelledby, ...names) {
		this.known = new Map();
		this.width = names.length;
		this.body = h('tbody', {role: 'rowgroup'});
		this.element = h('div.grid-box', {}, h('table.grid', {role: 'table', 'aria-labelledby': labelledby},
			h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, names.map((text) => h('th', {role: 'columnheader', scope: 'col', text})))), this.body));
	}

	// rows: {name, key, cells()}. A row that is as it was stays the element it is.
	set(rows, otherwise) {
		const known = new Map();
		const cell = (content, i) => (i ? h(i === this.width - 1 ? 'td.wide' : 'td', {role: 'cell'}, content) : h('th', {role: 'rowheader', scope: 'row'}, content));
		const elements = rows.slice(0, ROWS_MAX).map(({name, key, cells}) => {
			known.set(key, this.known.get(key) ?? h('tr', {role: 'row', testid: 'usage-row', 'data-name': name}, cells().map(cell)));
			return known.get(key);
		});
		if (rows.length !== elements.length || !rows.length) {
			elements.push(h('tr', {role: 'row'}, h('td.empty', {role: 'cell', colspan: this.width,
				text: rows.length ? `and ${rows.length - ROWS_MAX} more` : otherwise})));
		}
		this.known = known;
		place(this.body, elements);
	}
}

class Usage extends Following {
	constructor(root, params, ctx) {
		super(root, params, ctx);
		const {resource, name} = params, [kind, field] = KINDS[resource] ?? [];
		const type = kind && (ctx.resourceOf('annals.dev', kind) ?? ctx.resourceOf('apps', kind));
		if (!type) {
			root.append(errorBox({title: 'Nothing to look for', message: 'Only Providers and ControllerRevisions are used by others, and this cluster has none.'}));
			return;
		}
		this.kind = kind;
		this.objects = new Map();
		this.users = new Map();
		this.pods = new Map();
		this.build();
		const later = {onFail: () => {}}; // it is noted with the others
		this.follow('object', type, {fieldSelector: `metadata.name=${name}`}, this.objects, (each) => each);
		const dependents = ctx.resourceOf('annals.dev', 'Dependent');
		this.hasDependents = Boolean(dependents);
		if (dependents) {
			this.follow('users', dependents, {fieldSelector: `${field}${name}=true`}, this.users, (each) => each, later);
		} else {
			this.users.isSynced = true;
		}
		if (resource === 'controllerrevisions' && name.length <= 63) {
			// A StatefulSet's pods are labelled with the whole name, a DaemonSet's with its end.
			const hashes = [name, name.split('-').at(-1)];
			this.follow('pods', {group: '', version: 'v1', resource: 'pods'}, {labelSelector: `controller-revision-hash in (${hashes.join(',')})`}, this.pods,
				(pod) => ({...podState(pod), created: pod.metadata.creationTimestamp}), later);
		}
	}

	build() {
		const {namespace, name} = this.params;
		this.badge = h('span.badge', {hidden: true});
		this.why = h('p.why', {testid: 'usage-why'});
		this.facts = h('dl.facts');
		this.note = h('p.note');
		this.count = h('span.soft');
		this.error = h('div');
		this.table = new Table('usage-users', 'Used by', 'State', 'Since', 'Why');
		this.body = h('div', {hidden: true}, this.why, this.facts, h('h2', {id: 'usage-users'}, 'What uses it ', this.count), this.note, this.table.element);
		this.root.append(h('section.usage', {testid: 'usage', 'aria-labelledby': 'usage-title'},
			h('header.view-head', {}, h('p.crumb', {text: `${this.kind} in ${namespace}`}), h('h1', {id: 'usage-title'}, h('span', {text: name}), this.badge)),
			this.error, this.body));
	}

	draw() {
		const object = this.objects.values().next().value;
		if (!this.objects.isSynced && !object) {
			return;
		}
		this.body.hidden = this.badge.hidden = !object;
		if (!object) {
			clear(this.error).append(h('p.message', {role: 'status', text: this.object
				? `${this.kind} ${this.params.name} is gone.` : `There is no ${this.kind} ${this.params.name} in ${this.params.namespace}.`}));
			return;
		}
		if (this.object !== object) {
			clear(this.error);
			this.object = object;
			this.drawFacts(object);
		}
		const {refused} = this.users, owner = object.metadata.ownerReferences?.find((each) => each.controller);
		const pods = [...this.pods.values()].filter((each) => !owner || each.owner?.uid === owner.uid);
		if (refused || this.users.isSynced) {
			const {state, text} = explainDeletion(object, [...this.users.values()].map((each) => each.metadata.name), !refused, pods.length);
			setText(this.why, text);
			this.why.dataset.state = this.badge.dataset.state = {free: 'complete', used: 'moving', waits: 'waiting', ends: 'moving'}[state];
			setText(this.badge, {free: object.metadata.finalizers?.length ? 'free' : 'not protected', used: 'in use', waits: 'deletion waits', ends: 'deletion ends'}[state]);
			this.say(text);
		}
		this.drawRows(pods, refused ?? this.pods.refused);
	}

	drawFacts({metadata, revision}) {
		const deleted = timeOf(metadata.deletionTimestamp), owner = metadata.ownerReferences?.find((each) => each.controller);
		const fact = (name, ...value) => h('div', {}, h('dt', {text: name}), h('dd', {}, ...value));
		clear(this.facts).append(
			fact('Being deleted', ...(Number.isFinite(deleted) ? ['since ', timeElement(deleted)] : ['no'])),
			fact('Finalizers', ...(metadata.finalizers?.length ? metadata.finalizers.map((text) => h('code', {text})) : ['none'])),
			revision === undefined ? '' : fact('Revision', String(revision)),
			owner ? fact('Controller', this.ownerLink(owner)) : '');
	}

	ownerLink({apiVersion, kind, name}) {
		const [group] = apiVersion.split('/'), text = `${kind} ${name}`;
		return isWorkload(group, kind) ? h('a', {text, href: this.ctx.address('rollout', {group, kind, namespace: this.params.namespace, name})}) : text;
	}

	drawRows(ofIt, refused) {
		const users = [...this.users.values()].map((each) => ({
			name: `dependent/${each.metadata.name}`, time: each.metadata.creationTimestamp, why: reasonOf(each),
			state: each.metadata.deletionTimestamp ? 'Terminating' : each.status?.phase ?? 'not looked at yet'}));
		const pods = ofIt.map(({name, text, message, created}) => ({name: `pod/${name}`, time: created, state: text, why: message || 'was made from it'}));
		const rows = [...users, ...pods].sort((a, b) => byName(a.name, b.name));
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
		this.filter = h('input', {type: 'search', testid: 'filter-text', 'data-filter': '', autocomplete: 'off', spellcheck: 'false', oninput: () => {
			ctx.put('usage', {...params, text: this.filter.value.trim()});
			this.drawSoon();
		}});
		this.filter.value = params.text ?? '';
		this.table = new Table('usage-title', 'Provider', 'Namespace', 'Used by', 'Deletion');
		this.count = h('span.count', {role: 'status'});
		this.error = h('div');
		root.append(h('section.usage', {testid: 'usage', 'aria-labelledby': 'usage-title'},
			h('header.view-head', {}, h('h1', {id: 'usage-title', text: 'Providers, and what uses them'})),
			h('div.filters', {}, h('label.field.grow', {}, h('span', {text: 'Name, namespace'}), this.filter), this.count), this.error, this.table.element));
		this.follow('providers', type, {}, this.providers, ({metadata}) => ({metadata}), {namespace: ''});
		this.follow('users', dependents, {}, this.users, ({metadata, spec}) => ({name: metadata.name, of: (spec?.providers ?? [])
			.filter((each) => each.kind !== 'ControllerRevision').map((each) => `${metadata.namespace}/${each.name}`)}), {namespace: ''});
	}

	draw() {
		if (!this.providers.isSynced || !(this.users.isSynced || this.users.refused)) {
			return;
		}
		const usersOf = new Map(), text = this.filter.value.trim().toLowerCase();
		for (const {name, of} of this.users.values()) {
			of.forEach((each) => (usersOf.has(each) ? usersOf.get(each).push(name) : usersOf.set(each, [name])));
		}
		const all = [...this.providers].filter(([key]) => key.toLowerCase().includes(text)).map(([key, object]) => ({
			key, object, users: (usersOf.get(key) ?? []).sort(byName), deleted: timeOf(object.metadata.deletionTimestamp)}));
		all.sort((a, b) => Number.isFinite(b.deleted) - Number.isFinite(a.deleted) || byName(a.key, b.key));
		setText(this.count, `${all.length} of ${this.providers.size}`);
		this.table.set(all.map(({key, object, users, deleted}) => {
			const {name, namespace} = object.metadata, canSee = !this.users.refused;
			const used = users.length ? listed(users) : canSee ? 'nothing' : 'not known';
			const why = Number.isFinite(deleted) ? explainDeletion(object, users, canSee).text : '';
			return {name: `provider/${name}`, key: JSON.stringify([key, used, deleted, why]), cells: () => [
				h('a', {text: name, href: this.ctx.address('usage', {resource: 'providers', namespace, name})}), namespace, used,
				why ? h('span', {}, timeElement(deleted), `: ${why}`) : 'no']};
		}), this.providers.size ? 'None has such a name.' : 'There are no Providers.');
	}
}

let shown = null;

export default {
	title: ({resource, name}) => (name ? `What uses ${KINDS[resource]?.[0] ?? resource} ${name}` : 'Providers'),
	open(root, params, ctx) {
		shown = params.name ? new Usage(root, params, ctx) : new Providers(root, params, ctx);
	},
	close() {
		shown?.close();
		shown = null;
	},
};
