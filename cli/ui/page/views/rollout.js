// Which pods run which revision of a workload, as it happens, and what the rollout waits for.
import {clear, errorBox, h, place, setText} from '../dom.js';
import {follow, getJson, resourcePath} from '../api.js';
import {setTime, timeOf} from '../time.js';
import {listed, podState, progressOf, revisionOf, selectorText} from './workload.js';

const CHIPS_MAX = 200;   // pods shown of one revision; those that are not Ready come first
const MISSED_MAX = 1000;
const OLD_MAX = 5;       // older revisions without pods that are shown at once
const PAUSE_FIRST = 100, PAUSE_NEXT = 1000, PAUSE_FAILED = 5000; // milliseconds before revisions are read, and read again
const GLYPHS = {ready: '✓', pending: '…', starting: '…', broken: '!', failed: '✕', succeeded: '•', leaving: '↓'};
const WATCHED = ['apps', 'annals.dev']; // groups that have workloads
const byNatural = new Intl.Collator('en', {numeric: true}).compare;

class Rollout {
	constructor(root, params, ctx) {
		Object.assign(this, {params, ctx, pods: new Map(), chips: new Map(), rows: new Map(), missed: new Set(), revisions: []});
		this.stop = new AbortController();
		this.resource = WATCHED.includes(params.group) ? ctx.resourceOf(params.group, params.kind) : undefined;
		this.states = {};
		this.build(root);
		if (this.resource) {
			this.followWorkload();
		} else {
			this.fail({title: 'No rollout', message: `${params.kind || 'This kind'} has no rollout that is shown here: ` +
				'StatefulSets, Deployments and DaemonSets have one.'});
		}
	}

	close() {
		this.stop.abort();
		this.podStop?.abort();
		cancelAnimationFrame(this.frame);
		clearTimeout(this.timer);
	}

	// ---- what is read ----

	get name() {
		return `${this.params.kind} ${this.params.name}`;
	}

	async followWorkload() {
		const {namespace, name} = this.params;
		let isThere = false;
		await this.run('workload', follow(resourcePath(this.resource, namespace), {
			query: {fieldSelector: `metadata.name=${name}`}, signal: this.stop.signal,
			onReset: () => {
				isThere = false;
			},
			onItems: (items) => items.forEach((item) => {
				isThere = true;
				this.setWorkload(item);
			}),
			onSynced: () => isThere || this.setGone(),
			onEvent: (type, object) => (type === 'DELETED' ? this.setGone() : this.setWorkload(object)),
			onState: (state, error) => this.setState('workload', state, error),
		}));
	}

	setWorkload(object) {
		const old = this.workload;
		this.workload = object;
		this.isGone = false;
		const selector = selectorText(object.spec?.selector);
		if (this.selector !== selector || old?.metadata.uid !== object.metadata.uid) {
			this.selector = selector;
			this.revisions = [];
			this.followPods(selector);
		}
		const seen = (o) => [o?.metadata.generation, o?.status?.observedGeneration, o?.status?.updateRevision,
			o?.status?.currentRevision, o?.metadata.annotations?.['deployment.kubernetes.io/revision']].join();
		if (seen(old) !== seen(object)) {
			this.readRevisionsSoon();
		}
		this.drawSoon();
	}

	setGone() {
		this.isGone = true;
		this.podStop?.abort();
		this.selector = undefined;
		this.pods.clear();
		this.drawSoon();
	}

	async followPods(selector) {
		this.podStop?.abort();
		this.podStop = new AbortController();
		const pods = {group: '', version: 'v1', resource: 'pods'};
		const take = (pod) => this.pods.set(pod.metadata.name, podState(pod));
		await this.run('pods', follow(resourcePath(pods, this.params.namespace), {
			query: {labelSelector: selector}, signal: this.podStop.signal,
			onReset: () => this.pods.clear(),
			onItems: (items) => items.forEach(take),
			onSynced: () => this.drawSoon(),
			onEvent: (type, pod) => {
				if (type === 'DELETED') {
					this.pods.delete(pod.metadata.name);
				} else {
					take(pod);
				}
				this.drawSoon();
			},
			onState: (state, error) => this.setState('pods', state, error),
		}));
	}

	// Revisions change at most when the workload does, or when a pod comes of one that is not known yet. So
	// they need no watch of their own.
	readRevisionsSoon() {
		if (!this.timer) {
			const since = performance.now() - (this.readAt ?? -Infinity);
			this.timer = setTimeout(() => this.readRevisions(), Math.max(PAUSE_FIRST, PAUSE_NEXT - since));
		}
	}

	async readRevisions() {
		const {namespace, name} = this.params;
		try {
			const answer = await getJson('revisions', {signal: this.stop.signal, query: {
				type: typeOf(this.resource), namespace, name, own: 'true'}});
			this.revisions = answer.items ?? [];
			this.revisionError = null;
		} catch (error) {
			if (error.name === 'AbortError') {
				return;
			}
			this.revisionError = error;
		}
		this.timer = 0;
		this.readAt = performance.now();
		if (this.revisionError && (!this.revisionError.status || this.revisionError.status >= 429)) {
			this.readAt += PAUSE_FAILED;
			this.readRevisionsSoon();
		}
		this.drawSoon();
	}

	async run(what, following) {
		try {
			await following;
		} catch (error) {
			this.setState(what, 'lost', error);
			this.fail(error);
		}
	}

	setState(what, state, error) {
		this.states[what] = state;
		const isLost = Object.values(this.states).includes('lost');
		this.ctx.setLive(isLost ? 'lost' : state, error?.message);
	}

	// ---- what is shown ----

	build(root) {
		const {group, kind, namespace, name} = this.params;
		this.badge = h('span.badge', {hidden: true});
		this.why = h('p.rollout-why', {testid: 'rollout-why'});
		this.fill = h('span.bar-fill');
		this.bar = h('div.progress', {role: 'progressbar', 'aria-label': 'Pods of the newest revision that are Ready',
			'aria-valuemin': '0', 'aria-valuenow': '0', 'aria-valuemax': '0'}, this.fill);
		this.counts = h('dl.facts');
		this.note = h('p.note', {hidden: true});
		this.list = h('ol.revisions', {'aria-label': 'Revisions, the newest first'});
		this.older = h('button', {type: 'button', class: 'quiet', hidden: true, onclick: () => {
			this.showsOld = true;
			this.draw();
			this.list.querySelector('.revision.is-old a')?.focus();
		}});
		this.error = h('div');
		this.element = h('section.rollout', {testid: 'rollout', 'aria-labelledby': 'rollout-title'},
			h('header.view-head', {},
				h('p.crumb', {text: [kind, group && `of ${group}`, namespace && `in ${namespace}`].filter(Boolean).join(' ')}),
				h('h1', {id: 'rollout-title'}, h('span', {text: name}), this.badge),
				h('p.links', {},
					h('a', {href: this.ctx.address('history', {group, kind, namespace, name}), text: 'History'}))),
			this.error,
			this.body = h('div', {hidden: true}, this.why, this.bar, this.counts,
				h('h2', {text: 'Revisions and their pods'}), this.note, this.list, this.older));
		root.append(this.element);
	}

	fail(error) {
		clear(this.error).append(errorBox(error));
	}

	drawSoon() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}

	// The pods that are the workload's. Those that only have its labels are somebody else's.
	ownPods() {
		const {workload, revisions} = this;
		const isDeployment = this.params.kind === 'Deployment';
		const replicaSets = new Set(revisions.map((each) => each.name));
		return [...this.pods.values()].filter(({owner}) => (isDeployment
			? owner?.kind === 'ReplicaSet' && (replicaSets.has(owner.name) || this.revisionError)
			: owner?.uid === workload.metadata.uid));
	}

	// Revisions, each with its pods; also those that only pods tell of.
	grouped() {
		const status = this.workload.status ?? {}, of = new Map();
		const known = [...this.revisions].sort((a, b) => b.number - a.number);
		known.forEach((each) => of.set(each.name, {...each, pods: []}));
		for (const pod of this.ownPods()) {
			const name = revisionOf(pod, this.workload, known) || '(no revision)';
			if (!of.has(name)) {
				of.set(name, {name, number: null, pods: []});
			}
			of.get(name).pods.push(pod);
		}
		this.missRevisions(of);
		const target = status.updateRevision ?? known[0]?.name;
		for (const name of [status.updateRevision, status.currentRevision]) {
			if (name && !of.has(name)) {
				of.set(name, {name, number: null, pods: []});
			}
		}
		const groups = [...of.values()].sort((a, b) => (b.number ?? (b.name === target ? Infinity : -1)) -
			(a.number ?? (a.name === target ? Infinity : -1)));
		groups.forEach((each, i) => {
			each.previous = groups.slice(i + 1).find((other) => other.number !== null)?.number;
			each.isTarget = each.name === target;
			each.isCurrent = status.currentRevision ? each.name === status.currentRevision : each.isTarget;
		});
		return groups;
	}

	// Pods of a revision that is newer than what was read: once for each, since it may be gone, too.
	missRevisions(of) {
		for (const {owner, hash} of this.pods.values()) {
			const name = this.params.kind === 'Deployment' ? owner?.name : hash;
			const isKnown = !name || (of.has(name) && of.get(name).number !== null);
			if (!isKnown && !this.missed.has(name) && this.missed.size < MISSED_MAX) {
				this.missed.add(name);
				this.readRevisionsSoon();
			}
		}
	}

	draw() {
		if (this.isGone) {
			const message = this.workload ? `${this.name} was deleted.` : `There is no ${this.name} in ${this.params.namespace || 'the cluster'}.`;
			this.body.hidden = true;
			clear(this.error).append(h('div.message', {role: 'status'}, h('p', {text: `${message} Its history may still be there.`})));
			this.shownGone = true;
			return;
		}
		if (!this.workload) {
			return;
		}
		if (this.shownGone) {
			this.shownGone = false;
			clear(this.error);
		}
		this.body.hidden = false;
		const groups = this.grouped();
		const progress = progressOf({kind: this.params.kind, object: this.workload, groups});
		this.drawProgress(progress);
		this.drawGroups(groups, progress);
		this.note.hidden = !this.revisionError;
		setText(this.note, this.revisionError ? `The revisions cannot be read: ${this.revisionError.message}` : '');
	}

	drawProgress({state, text, done, wanted, facts}) {
		setText(this.why, text);
		this.why.dataset.state = state;
		this.badge.hidden = false;
		this.badge.dataset.state = state;
		setText(this.badge, {complete: 'complete', moving: 'in progress', waiting: 'waits', broken: 'stuck'}[state]);
		const part = wanted ? Math.min(done / wanted, 1) : 1;
		this.bar.setAttribute('aria-valuemax', wanted);
		this.bar.setAttribute('aria-valuenow', Math.min(done, wanted));
		this.bar.setAttribute('aria-valuetext', `${done} of ${wanted} pods`);
		this.bar.dataset.state = state;
		this.fill.style.width = `${part * 100}%`;
		const shown = facts.map((each) => each.join('\n')).join('\n');
		if (this.shownFacts !== shown) {
			this.shownFacts = shown;
			clear(this.counts).append(...facts.map(([name, value]) => h('div', {}, h('dt', {text: name}), h('dd', {text: value}))));
		}
		if (this.said !== undefined && this.said !== text) {
			this.ctx.announce(text);
		}
		this.said = text;
	}

	drawGroups(groups) {
		const old = groups.filter((each) => !each.pods.length && !each.isTarget && !each.isCurrent);
		const hidden = this.showsOld || old.length <= OLD_MAX + 1 ? [] : old.slice(OLD_MAX);
		const shown = groups.filter((each) => !hidden.includes(each));
		this.older.hidden = !hidden.length;
		setText(this.older, `Show ${hidden.length} older revisions without pods`);
		const elements = shown.map((each) => {
			const row = this.rows.get(each.name) ?? this.makeRow(each.name);
			this.drawRow(row, each);
			return row.element;
		});
		for (const name of this.rows.keys()) {
			if (!groups.some((each) => each.name === name)) {
				this.rows.delete(name);
			}
		}
		for (const name of this.chips.keys()) {
			if (!this.pods.has(name)) {
				this.chips.delete(name);
			}
		}
		place(this.list, elements);
	}

	makeRow(name) {
		const row = {
			title: h('span'), badges: h('span.badges'), name: h('code', {text: name}), time: h('time'), cause: h('span.cause'),
			links: h('span.links'), summary: h('span.pod-summary'), pods: h('ul.pods'),
		};
		row.element = h('li.revision', {testid: 'rollout-revision', 'data-name': name},
			h('div.revision-head', {}, h('h3', {}, row.title, ' ', row.badges), row.summary),
			h('p.revision-sub', {}, row.name, row.time, row.cause, row.links), row.pods);
		this.rows.set(name, row);
		return row;
	}

	drawRow(row, {name, number, pods, time, cause, isTarget, isCurrent, previous}) {
		const {group, kind, namespace, name: object} = this.params;
		const ready = pods.filter((each) => each.state === 'ready').length;
		setText(row.title, number === null ? 'Revision not known' : `Revision ${number}`);
		row.element.dataset.number = number ?? '';
		row.element.classList.toggle('is-old', !pods.length);
		const badges = isTarget && isCurrent ? ['current'] : isTarget ? ['update'] : isCurrent ? ['current'] : [];
		if (row.shownBadges !== badges.join()) {
			row.shownBadges = badges.join();
			clear(row.badges).append(...badges.map((text) => h('span.badge', {text, 'data-state': isTarget ? 'moving' : 'old'})));
		}
		const at = timeOf(time);
		row.time.hidden = !Number.isFinite(at);
		if (Number.isFinite(at)) {
			setTime(row.time, at);
		}
		setText(row.cause, cause ?? '');
		row.cause.hidden = !cause;
		setText(row.summary, pods.length ? `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}, ${ready} Ready` : 'no pods');
		row.pods.setAttribute('aria-label', `Pods of revision ${number ?? name}`);
		const key = `${number},${previous}`;
		if (row.shownLinks !== key) {
			row.shownLinks = key;
			const isRevision = kind !== 'Deployment' && number !== null;
			clear(row.links).append(
				number !== null && previous !== undefined ? h('a', {text: `what changed since ${previous}`, testid: 'rollout-diff',
					href: this.ctx.address('history', {group, kind, namespace, name: object, own: 'true', from: previous, to: number})}) : '',
				isRevision ? h('a', {text: 'what uses it', 'aria-label': `what uses it: revision ${number}`,
					href: this.ctx.address('usage', {resource: 'controllerrevisions', namespace, name})}) : '');
		}
		this.drawPods(row, pods);
	}

	drawPods(row, pods) {
		const order = (each) => (each.state === 'ready' ? 1 : 0);
		pods.sort((a, b) => (pods.length > CHIPS_MAX ? order(a) - order(b) : 0) || byNatural(a.name, b.name));
		const elements = pods.slice(0, CHIPS_MAX).map((each) => this.chip(each));
		if (pods.length > CHIPS_MAX) {
			row.more ??= h('li.pod.pod-more');
			setText(row.more, `and ${pods.length - CHIPS_MAX} more`);
			elements.push(row.more);
		}
		row.pods.hidden = !elements.length;
		place(row.pods, elements);
	}

	chip(pod) {
		let chip = this.chips.get(pod.name);
		if (!chip) {
			chip = {glyph: h('span.pod-glyph', {'aria-hidden': 'true'}), text: h('span.pod-text')};
			chip.element = h('li.pod', {testid: 'rollout-pod', 'data-pod': pod.name}, chip.glyph, h('span.pod-name', {text: pod.name}), chip.text);
			this.chips.set(pod.name, chip);
		}
		const shown = `${pod.state} ${pod.uid} ${pod.text} ${pod.message}`;
		if (chip.shown !== shown) {
			chip.element.classList.toggle('is-new', chip.shown !== undefined || this.said !== undefined);
			chip.shown = shown;
			chip.element.dataset.state = pod.state;
			chip.element.title = pod.message ? `${pod.text}: ${pod.message}` : pod.text;
			setText(chip.glyph, GLYPHS[pod.state]);
			setText(chip.text, pod.text);
			chip.text.classList.toggle('sr', pod.state === 'ready');
		}
		return chip.element;
	}
}

export const typeOf = ({resource, group}) => (group ? `${resource}.${group}` : resource);

let shown = null;

export default {
	title: ({kind, name}) => `Rollout of ${listed([`${kind} ${name}`])}`,
	open(root, params, ctx) {
		shown = new Rollout(root, params, ctx);
	},
	close() {
		shown?.close();
		shown = null;
	},
};
