// The address bar names the view: what is behind the # is its path and its parameters, so links can be sent.

// A view's module is read when it is first needed: export default {title(params), open(root, params, ctx), close()}.
export const VIEWS = {
	timeline: {module: './views/timeline.js', segments: []},
	history: {module: './views/history.js', segments: ['group', 'kind', 'namespace', 'name']},
	rollout: {module: './views/rollout.js', segments: ['group', 'kind', 'namespace', 'name']},
	usage: {module: './views/usage.js', segments: ['resource', 'namespace', 'name']},
	workloads: {module: './views/workloads.js', segments: []},
};

// '#/history/apps/StatefulSet/shop/web?from=1' -> {view, params}; an empty segment is written '-'.
export function parseAddress(fragment) {
	const [path, query = ''] = fragment.replace(/^#/, '').split(/\?(.*)/s);
	const [view = '', ...segments] = path.replace(/^\//, '').split('/');
	const params = Object.fromEntries(new URLSearchParams(query));
	(VIEWS[view]?.segments ?? []).forEach((name, i) => {
		let value = segments[i] ?? '';
		try {
			value = decodeURIComponent(value);
		} catch {
			value = '';
		}
		params[name] = value === '-' ? '' : value;
	});
	return {view, params};
}

export function addressOf(view, params = {}) {
	const names = VIEWS[view].segments;
	const path = names.map((name) => `/${encodeURIComponent(params[name] || '-')}`).join('');
	const query = new URLSearchParams(Object.entries(params).filter(([name, value]) =>
		!names.includes(name) && value !== undefined && value !== null && value !== ''));
	const text = query.toString();
	return `#/${view}${path}${text ? `?${text}` : ''}`;
}
