// Which pods run which revision of a workload, as it happens, and what the rollout waits for.
import {clear, errorBox, h, place, setText} from '../dom.js';
import {getJson} from '../api.js';
import {setTime, timeOf} from '../time.js';
import {Following} from './following.js';
import {podState, progressOf, revisionOf, selectorText} from './workload.js';

const CHIPS_MAX = 200;   // pods shown of one revision; those that are not Ready come first
const MISSED_MAX = 1000;
const OLD_MAX = 5;       // older revisions without pods that are shown at once
const PAUSE_FIRST = 100, PAUSE_NEXT = 1000, PAUSE_FAILED = 5000; // milliseconds before revisions are read, and read again
const GLYPHS = {ready: '✓', pending: '…', starting: '…', broken: '!', failed: '✕', succeeded: '•', leaving: '↓'};
const byName = new Intl.Collator('en', {numeric: true}).compare;

class Rollout extends Following {
	constructor(root, params, ctx) {
		super(root, params, ctx);
		Object.assign(this, {objects: new Map(), pods: new Map(), revisions: [], chips: new Map(), rows: new Map(), missed: new Set()});
		this.resource = ['apps', 'annals.dev'].includes(params.group) ? ctx.resourceOf(params.group, params.kind) : undefined;
		this.isDeployment = params.kind === 'Deployment';
		this.build(root);
		if (this.resource) {
			this.follow('workload', this.resource, {fieldSelector: `metadata.name=${params.name}`}, this.objects, (object) => {
				this.setWorkload(object);
				return object;
			});
		} else {
			this.error.append(errorBox({title: 'No rollout', message: `${params.kind || 'This kind'} has no rollout that is shown here: ` +
				'StatefulSets, Deployments and DaemonSets have one.'}));
		}
	}

	close() {
		super.close();
		this.podStop?.abort();
		clearTimeout(this.timer);
	}

	// ---- what is read ----

	setWorkload(object) {
		const seen = ({metadata, status = {}}) => [metadata.uid, metadata.generation, status.observedGeneration, status.updateRevision,
			status.currentRevision, metadata.annotations?.['deployment.kubernetes.io/revision']].join();
		const old = this.workload, selector = selectorText(object.spec?.selector);
		this.workload = object;
		if (this.selector !== selector || old?.metadata.uid !== object.metadata.uid) {
			this.selector = selector;
			this.revisions = [];
			this.podStop?.abort();
			this.podStop = new AbortController();
			this.pods = new Map();
			this.follow('pods', {group: '', version: 'v1', resource: 'pods'}, {labelSelector: selector}, this.pods, podState, {signal: this.podStop.signal});
		}
		if (!old || seen(old) !== seen(object)) {
			this.readRevisionsSoon();
		}
	}

	// Revisions change at most when the workload does, or when a pod comes of one that is not known yet. So
	// they need no watch of their own.
	readRevisionsSoon() {
		const since = performance.now() - (this.readAt ?? -Infinity);
		this.timer ||= setTimeout(() => this.readRevisions(), Math.max(PAUSE_FIRST, PAUSE_NEXT - since));
	}

	async readRevisions() {
		const {namespace, name} = this.params, {resource, group} = this.resource;
		try {
			this.revisions = (await getJson('revisions', {signal: this.stop.signal, query: {type: `${resource}.${group}`, namespace, name, own: 'true'}})).items ?? [];
			this.refused = null;
		} catch (error) {
			if (error.name === 'AbortError') {
				return;
			}
			this.refused = error;
		}
		this.timer = 0;
		this.readAt = performance.now();
		if (this.refused && (!this.refused.status || this.refused.status >= 429)) {
			this.readAt += PAUSE_FAILED;
			this.readRevisionsSoon();
		}
		this.drawSoon();
	}

	// Pods of a revision that is newer than what was read: once for each, since it may be gone, too.
	readMissing(of) {
		for (const {owner, hash} of this.pods.values()) {
			const name = this.isDeployment ? owner?.name : hash;
			if (name && (of.get(name)?.number ?? null) === null && !this.missed.has(name) && this.missed.size < MISSED_MAX) {
				this.missed.add(name);
				this.readRevisionsSoon();
			}
		}
	}

	// ---- what is shown ----

	build(root) {
		const {group, kind, namespace, name} = this.params;
		this.badge = h('span.badge', {hidden: true});
		this.why = h('p.why', {testid: 'rollout-why'});
		this.fill = h('span');
		this.bar = h('div.progress', {role: 'progressbar', 'aria-label': 'Pods of the newest revision that are Ready', 'aria-valuemin': '0'}, this.fill);
		this.facts = h('dl.facts');
		this.note = h('p.note');
		this.list = h('ol.revisions', {'aria-label': 'Revisions, the newest first'});
		this.older = h('button', {type: 'button', hidden: true, onclick: () => {
			this.showsOld = true;
			this.draw();
			this.list.querySelector('.is-old a')?.focus();
		}});
		this.error = h('div');
		this.body = h('div', {hidden: true}, this.why, this.bar, this.facts, h('h2', {text: 'Revisions and their pods'}), this.note, this.list, this.older);
		root.append(h('section.rollout', {testid: 'rollout', 'aria-labelledby': 'rollout-title'},
			h('header.view-head', {},
				h('p.crumb', {text: `${kind} of ${group} in ${namespace}`}),
				h('h1', {id: 'rollout-title'}, h('span', {text: name}), this.badge),
				h('a', {href: this.ctx.address('history', {group, kind, namespace, name}), text: 'History'})),
			this.error, this.body));
	}

	// The pods that are the workload's. Those that only have its labels are somebody else's.
	ownPods() {
		const replicaSets = new Set(this.revisions.map((each) => each.name));
		return [...this.pods.values()].filter(({owner}) => (this.isDeployment ? replicaSets.has(owner?.name) : owner?.uid === this.workload.metadata.uid));
	}

	// Revisions, each with its pods; also those that only pods name.
	grouped() {
		const {updateRevision, currentRevision} = this.workload.status ?? {}, of = new Map();
		const add = (name) => of.has(name) || of.set(name, {name, number: null, pods: []});
		const known = [...this.revisions].sort((a, b) => b.number - a.number);
		known.forEach((each) => of.set(each.name, {...each, pods: []}));
		[updateRevision, currentRevision].filter(Boolean).forEach(add);
		for (const pod of this.ownPods()) {
			const name = revisionOf(pod, this.workload, known) || '(no revision)';
			add(name);
			of.get(name).pods.push(pod);
		}
		this.readMissing(of);
		const target = updateRevision ?? known[0]?.name;
		const rank = ({number, name}) => number ?? (name === target ? Infinity : -1);
		const groups = [...of.values()].sort((a, b) => rank(b) - rank(a));
		groups.forEach((each, i) => {
			each.previous = groups.slice(i + 1).find((other) => other.number !== null)?.number;
			each.isTarget = each.name === target;
			each.isCurrent = each.name === (currentRevision ?? target);
		});
		return groups;
	}

	draw() {
		const isThere = this.objects.size > 0, {kind, name, namespace} = this.params;
		if (!isThere && !this.objects.isSynced) {
			return;
		}
		this.body.hidden = this.badge.hidden = !isThere;
		if (!isThere) {
			this.podStop?.abort();
			this.selector = undefined;
			const text = this.workload ? `${kind} ${name} was deleted.` : `There is no ${kind} ${name} in ${namespace}.`;
			clear(this.error).append(h('p.message', {role: 'status', text: `${text} Its history may still be there.`}));
			this.isMissing = true;
			return;
		}
		if (this.isMissing) {
			this.isMissing = false;
			clear(this.error);
		}
		const groups = this.grouped();
		if (this.pods.isSynced || this.pods.refused) {
			this.drawProgress(progressOf({kind, object: this.workload, groups}));
		}
		this.drawGroups(groups);
		setText(this.note, this.refused ? `The revisions cannot be read: ${this.refused.message}` : '');
	}

	drawProgress({state, text, done, wanted, facts}) {
		setText(this.why, text);
		setText(this.badge, {complete: 'complete', moving: 'in progress', waiting: 'waits', broken: 'stuck'}[state]);
		for (const each of [this.why, this.badge, this.bar]) {
			each.dataset.state = state;
		}
		this.bar.setAttribute('aria-valuemax', wanted);
		this.bar.setAttribute('aria-valuenow', Math.min(done, wanted));
		this.bar.setAttribute('aria-valuetext', `${done} of ${wanted} pods`);
		this.fill.style.width = `${wanted ? Math.min(done / wanted, 1) * 100 : 100}%`;
		const shown = facts.join();
		if (this.shownFacts !== shown) {
			this.shownFacts = shown;
			clear(this.facts).append(...facts.map(([name, value]) => h('div', {}, h('dt', {text: name}), h('dd', {text: value}))));
		}
		this.say(text);
	}

	drawGroups(groups) {
		const old = groups.filter((each) => !each.pods.length && !each.isTarget && !each.isCurrent);
		const hidden = new Set(this.showsOld || old.length <= OLD_MAX + 1 ? [] : old.slice(OLD_MAX));
		this.older.hidden = !hidden.size;
		setText(this.older, `Show ${hidden.size} older revisions without pods`);
		const rows = new Map(groups.filter((each) => !hidden.has(each)).map((each) => [each.name, this.row(each)]));
		this.rows = rows;
		for (const name of this.chips.keys()) {
			if (!this.pods.has(`${this.params.namespace}/${name}`)) {
				this.chips.delete(name);
			}
		}
		place(this.list, [...rows.values()].map((row) => row.element));
	}

	makeRow(name) {
		const row = {title: h('span'), badge: h('span.badge'), time: h('time'), cause: h('span'), links: h('span.links'), summary: h('span.soft'), pods: h('ul.pods')};
		row.element = h('li.revision', {testid: 'rollout-revision', 'data-name': name},
			h('div.revision-head', {}, h('h3', {}, row.title, ' ', row.badge), row.summary),
			h('p.revision-sub', {}, h('code', {text: name}), row.time, row.cause, row.links), row.pods);
		return row;
	}

	row({name, number, pods, time, cause, isTarget, isCurrent, previous}) {
		const row = this.rows.get(name) ?? this.makeRow(name);
		const {group, kind, namespace, name: object} = this.params, at = timeOf(time);
		setText(row.title, number === null ? 'Revision not known' : `Revision ${number}`);
		row.element.dataset.number = number ?? '';
		row.element.classList.toggle('is-old', !pods.length);
		setText(row.badge, isCurrent ? 'current' : 'update');
		row.badge.hidden = !isTarget && !isCurrent;
		row.badge.dataset.state = isTarget ? 'moving' : '';
		row.time.hidden = !Number.isFinite(at);
		setTime(row.time, at);
		setText(row.cause, cause);
		setText(row.summary, pods.length ? `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}, ${pods.filter((each) => each.state === 'ready').length} Ready` : 'no pods');
		row.pods.setAttribute('aria-label', `Pods of revision ${number ?? name}`);
		if (row.shown !== `${number} ${previous}`) {
			row.shown = `${number} ${previous}`;
			clear(row.links).append(
				number !== null && previous !== undefined ? h('a', {text: `what changed since ${previous}`, testid: 'rollout-diff',
					href: this.ctx.address('history', {group, kind, namespace, name: object, own: 'true', from: previous, to: number})}) : '',
				!this.isDeployment && number !== null ? h('a', {text: 'what uses it', 'aria-label': `what uses it: revision ${number}`,
					href: this.ctx.address('usage', {resource: 'controllerrevisions', namespace, name})}) : '');
		}
		const rank = ({state}) => (pods.length > CHIPS_MAX && state === 'ready' ? 1 : 0);
		pods.sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name));
		const elements = pods.slice(0, CHIPS_MAX).map((each) => this.chip(each));
		if (pods.length > CHIPS_MAX) {
			row.more ??= h('li.soft');
			setText(row.more, `and ${pods.length - CHIPS_MAX} more`);
			elements.push(row.more);
		}
		row.pods.hidden = !elements.length;
		place(row.pods, elements);
		return row;
	}

	chip({name, uid, state, text, message}) {
		const chip = this.chips.get(name) ?? {glyph: h('span.tone', {'aria-hidden': 'true'}), text: h('span.tone')};
		chip.element ??= h('li.pod', {testid: 'rollout-pod', 'data-pod': name}, chip.glyph, h('span.mono', {text: name}), chip.text);
		this.chips.set(name, chip);
		const shown = `${state} ${uid} ${text} ${message}`;
		if (chip.shown !== shown) {
			chip.element.classList.toggle('is-new', this.said !== undefined);
			chip.shown = shown;
			chip.element.dataset.state = state;
			chip.element.title = message ? `${text}: ${message}` : text;
			setText(chip.glyph, GLYPHS[state]);
			setText(chip.text, text);
			chip.text.classList.toggle('sr', state === 'ready');
		}
		return chip.element;
	}
}

let shown = null;

export default {
	title: ({kind, name}) => `Rollout of ${kind} ${name}`,
	open(root, params, ctx) {
		shown = new Rollout(root, params, ctx);
	},
	close() {
		shown?.close();
		shown = null;
	},
};
