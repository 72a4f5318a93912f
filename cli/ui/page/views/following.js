// What views that follow objects have in common: watches that end with the view, one drawing for each frame, and
// the live mark.
import {clear, errorBox} from '../dom.js';
import {follow, resourcePath} from '../api.js';

export class Following {
	constructor(root, params, ctx) {
		Object.assign(this, {root, params, ctx, stop: new AbortController(), states: {}});
	}

	close() {
		this.stop.abort();
		cancelAnimationFrame(this.frame);
	}

	// Keeps in a map, by namespace and name, what take() makes of the objects. keep.isSynced: the list is whole.
	async follow(what, resource, query, keep, take, {signal = this.stop.signal, namespace = this.params.namespace, onFail} = {}) {
		const key = ({metadata}) => `${metadata.namespace ?? ''}/${metadata.name}`;
		const put = (item) => keep.set(key(item), take(item));
		try {
			await follow(resourcePath(resource, namespace), {
				query, signal,
				onReset: () => {
					keep.clear();
					keep.isSynced = false;
				},
				onItems: (items) => items.forEach(put),
				onSynced: () => {
					keep.isSynced = true;
					this.drawSoon();
				},
				onEvent: (type, item) => {
					if (type === 'DELETED') {
						keep.delete(key(item));
					} else {
						put(item);
					}
					this.drawSoon();
				},
				onState: (state, error) => {
					this.states[what] = state;
					this.ctx.setLive(Object.values(this.states).includes('lost') ? 'lost' : state, error?.message);
				},
			});
		} catch (error) {
			this.states[what] = 'refused';
			keep.refused = error;
			if (onFail) {
				onFail(error);
			} else {
				clear(this.error).append(errorBox(error));
			}
			this.drawSoon();
		}
	}

	drawSoon() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}

	// A sentence that has become another one is heard, too.
	say(text) {
		if (this.said !== undefined && this.said !== text) {
			this.ctx.announce(text);
		}
		this.said = text;
	}
}
