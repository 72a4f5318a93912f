// Histories become changes, in the order of time, the newest first. What is kept has a ceiling: the oldest go.
import {timeOf} from './time.js';

const CHANGES_MAX = 20000;
const BYTES_MAX = 64 << 20; // of their texts, roughly

// Who made a change: the user, where that is certain, or else the field managers. A client chooses the name of its
// field manager freely, so managers do not look like a user.
export function whoOf(change) {
	const managers = change.managers ?? [];
	if (change.type === 'Rerecorded') {
		return 'nobody';
	}
	return change.user || (managers.length ? `${managers.join(', ')} (manager${managers.length > 1 ? 's' : ''})` : 'unknown');
}

// Who else wrote, in a gap before the change.
const authorsOf = (change) => (change.skipped ? (change.gap?.authors ?? []).map((author) => author.user) : []);

// All who are known of a change, as one text to search in.
const allOf = (change) => [whoOf(change), ...authorsOf(change)].join(' ');

// The parts that became others, as one text.
export function pathsOf(change) {
	const paths = change.paths ?? [], more = change.morePaths ?? 0;
	return paths.join(', ') + (more ? `${paths.length ? ' and ' : ''}${more} more` : '');
}

// What a change is about: its parts, and whether states before it are missing.
export function partsOf(change) {
	const paths = change.type === 'Changed' || change.type === 'Adopted' ? pathsOf(change) : '';
	const skipped = !change.skipped ? '' : change.gap?.states ? `at least ${change.gap.states} states skipped before` : 'states skipped before';
	const authors = authorsOf(change).join(', '), others = authors && change.gap.moreAuthors ? ', perhaps others' : '';
	const gap = skipped + (authors ? `, also by ${authors}${others}` : '');
	return [paths, gap].filter((text) => text).join('; ');
}

const sizeOf = (change) => 200 + 2 * ((change.cause?.length ?? 0) + (change.paths ?? []).reduce((n, path) => n + path.length + 8, 0));

// Of two changes the newer one first: by time, then by the object's version, then as they came.
function order(a, b) {
	if (a.time !== b.time) {
		return b.time - a.time;
	}
	const va = a.change.resourceVersion ?? '', vb = b.change.resourceVersion ?? '';
	if (va !== vb && /^\d+$/.test(va) && /^\d+$/.test(vb)) {
		return va.length !== vb.length ? vb.length - va.length : va < vb ? 1 : -1;
	}
	return b.serial - a.serial;
}

export class Changes {
	constructor({max = CHANGES_MAX, bytesMax = BYTES_MAX} = {}) {
		this.max = max;
		this.bytesMax = bytesMax;
		this.sorted = [];         // the newest first
		this.histories = new Map(); // by uid: how many of their changes were taken
		this.bytes = 0;
		this.serial = 0;
		this.dropped = 0;         // beyond the ceiling
		this.missed = 0;          // came and went in their Histories before they were seen
	}

	// A list begins. What is not in it by the end of it is gone.
	begin() {
		this.listed = new Set();
	}

	end() {
		const gone = new Set([...this.histories.keys()].filter((uid) => !this.listed.has(uid)));
		this.listed = null;
		this.remove(gone);
	}

	// Takes what is new in some Histories; returns the new changes.
	take(items) {
		const added = [];
		for (const history of items) {
			const uid = history.metadata?.uid ?? '';
			const changes = history.status?.changes ?? [];
			const total = Math.max(history.status?.totalChanges ?? 0, changes.length);
			const seen = this.histories.get(uid);
			this.listed?.add(uid);
			const first = Math.max(seen ?? 0, total - changes.length);
			if (seen !== undefined && first > seen) {
				this.missed += first - seen;
			}
			const subject = history.spec?.subject ?? {};
			for (let i = first; i < total; i++) {
				const change = changes[i - (total - changes.length)];
				added.push({key: `${uid}:${i}`, uid, change, subject, time: timeOf(change.time) || 0, serial: ++this.serial,
					history: {namespace: history.metadata.namespace, name: history.metadata.name}});
				this.bytes += sizeOf(change);
			}
			this.histories.set(uid, Math.max(seen ?? 0, total));
		}
		this.insert(added);
		return added;
	}

	insert(added) {
		if (added.length > 64) {
			this.sorted = this.sorted.concat(added).sort(order);
		} else {
			for (const entry of added) {
				let low = 0, high = this.sorted.length;
				while (low < high) {
					const middle = (low + high) >> 1;
					if (order(entry, this.sorted[middle]) < 0) {
						high = middle;
					} else {
						low = middle + 1;
					}
				}
				this.sorted.splice(low, 0, entry);
			}
		}
		while (this.sorted.length > this.max || (this.bytes > this.bytesMax && this.sorted.length > 1)) {
			this.bytes -= sizeOf(this.sorted.pop().change);
			this.dropped++;
		}
	}

	forget(history) {
		this.remove(new Set([history.metadata?.uid]));
	}

	remove(uids) {
		if (uids.size === 0) {
			return;
		}
		this.sorted = this.sorted.filter((entry) => !uids.has(entry.uid));
		this.bytes = this.sorted.reduce((n, entry) => n + sizeOf(entry.change), 0);
		for (const uid of uids) {
			this.histories.delete(uid);
		}
	}
}

// ---- filters ----

const lower = (text) => String(text ?? '').toLowerCase();

// What a kind is called: its kind, its resource, its short names, with or without its group.
export function namesOfKind(resources, subject) {
	const kind = lower(subject.kind), names = [kind];
	for (const r of resources ?? []) {
		if (r.kind === subject.kind && r.group === (subject.group ?? '')) {
			names.push(r.resource, ...(r.shortNames ?? []));
		}
	}
	return subject.group ? names.flatMap((name) => [name, `${name}.${lower(subject.group)}`]) : names;
}

// {namespace, kind, by, text, since: milliseconds} -> a function that says which changes are meant. A kind may be
// a list with commas; `by` is a part of a name; each word of the text must be found.
export function filterOf({namespace, kind, by, text, since} = {}, resources = []) {
	const kinds = lower(kind).split(',').map((each) => each.trim()).filter(Boolean);
	const words = lower(text).split(/\s+/).filter(Boolean);
	const who = lower(by).trim(), where = lower(namespace).trim();
	const known = new Map();
	return ({change, subject, time}) => {
		if (since && time < since) {
			return false;
		}
		if (where && lower(subject.namespace) !== where) {
			return false;
		}
		if (kinds.length) {
			const id = `${subject.group}/${subject.kind}`;
			if (!known.has(id)) {
				const names = namesOfKind(resources, subject);
				known.set(id, kinds.some((each) => names.includes(each)));
			}
			if (!known.get(id)) {
				return false;
			}
		}
		if (who && !lower(allOf(change)).includes(who)) {
			return false;
		}
		if (words.length) {
			const all = lower([change.type, subject.kind, subject.namespace, subject.name, allOf(change), change.cause,
				...(change.paths ?? [])].join('\n'));
			return words.every((word) => all.includes(word));
		}
		return true;
	};
}
