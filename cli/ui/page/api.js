// What the page asks its server: with the session's header, and nothing else. The server passes on to the
// API server what is below api/, with the user's own rights.

const BASE = new URL('.', import.meta.url).pathname; // /annals/ui/
const KEY = 'annals-session';
const NOT_OURS = 'X-Annals-Session'; // a header of the page's own server: it does not know the session
const PAGE = 500;               // objects in one answer of a list
const LINE_MAX = 32 << 20;      // characters of one event of a watch
const WAIT_FIRST = 500, WAIT_MOST = 15000; // milliseconds between two tries

export class ApiError extends Error {
	constructor(status, reason, message, body) {
		super(message);
		this.status = status;
		this.reason = reason;
		this.body = body;
		this.title = status ? `${status} ${reason || 'refused'}` : 'No connection';
	}
}

// ---- the session ----

// It is the browser's: every tab of it reads the same, for as long as the server runs. Where storage is forbidden each page has its own.
let own = '';

function readSession() {
	try {
		return localStorage.getItem(KEY) ?? '';
	} catch {
		return own;
	}
}

function writeSession(session) {
	own = session;
	try {
		if (session) {
			localStorage.setItem(KEY, session);
		} else {
			localStorage.removeItem(KEY);
		}
	} catch {
		// Then this page alone knows it.
	}
}

const lostHandlers = new Set();
export const onSessionLost = (handler) => lostHandlers.add(handler);
export const hasSession = () => Boolean(readSession());

// Another tab has followed a link.
export const onSessionFound = (handler) => window.addEventListener('storage', (event) => event.key === KEY && event.newValue && handler());

function forgetSession() {
	writeSession('');
	for (const handler of lostHandlers) {
		handler();
	}
}

export async function exchangeToken(token) {
	const response = await fetch(`${BASE}session`, {method: 'POST', headers: {'X-Annals-Token': token}});
	if (!response.ok) {
		throw await errorOf(response);
	}
	writeSession((await response.json()).session);
}

async function errorOf(response) {
	let body;
	try {
		body = JSON.parse(await response.text());
	} catch {
		body = {};
	}
	const error = new ApiError(response.status, body.reason, body.message || response.statusText || 'no reason was given', body);
	error.isOfSession = response.headers.has(NOT_OURS);
	if (error.status === 401 && !error.isOfSession) {
		error.title = 'Your credentials are no longer accepted';
		error.message = `The API server answers “${error.message}”. The token or the certificate of your kubeconfig may have expired. ` +
			'Log in again, as you do for kubectl, and then start this page again.';
	}
	return error;
}

function withQuery(path, query) {
	const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== '');
	return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

// The answer as it comes. Throws an ApiError for what is no success; an aborted signal throws its AbortError.
export async function request(path, {query, accept = 'application/json', signal, method = 'GET', body} = {}) {
	const session = readSession(), headers = {'X-Annals-Session': session, Accept: accept};
	if (body !== undefined) {
		headers['Content-Type'] = 'application/json';
	}
	let response;
	try {
		response = await fetch(BASE + withQuery(path, query), {method, headers, signal, cache: 'no-store',
			body: body === undefined ? undefined : JSON.stringify(body)});
	} catch (error) {
		if (error.name === 'AbortError') {
			throw error;
		}
		throw new ApiError(0, '', 'The server of this page does not answer. Is "kubectl annals ui" still running?');
	}
	if (response.ok) {
		return response;
	}
	const error = await errorOf(response);
	if (error.isOfSession && readSession() !== session && hasSession()) {
		return request(path, {query, accept, signal, method, body}); // another tab has got a new one meanwhile
	}
	if (error.isOfSession) {
		forgetSession();
	}
	const after = Number(response.headers.get('Retry-After'));
	error.retryAfter = after > 0 ? after * 1000 : 0;
	throw error;
}

export const getJson = async (path, options) => (await request(path, options)).json();
export const postJson = async (path, body, options) => (await request(path, {...options, method: 'POST', body})).json();

// The path of a resource: resourcePath({group, version, resource, namespaced}, 'shop', 'web').
export function resourcePath({group, version, resource}, namespace, ...rest) {
	const parts = ['api', ...(group ? ['apis', group] : ['api']), version];
	if (namespace) {
		parts.push('namespaces', namespace);
	}
	parts.push(resource, ...rest);
	return parts.map((each, i) => (i ? encodeURIComponent(each) : each)).join('/');
}

// Lists all pages: onPage(items, isFirst) for each. Returns the version of the whole list.
export async function list(path, {query, signal, onPage, limit = PAGE} = {}) {
	let next = '', version = '', isFirst = true;
	do {
		const page = await getJson(path, {query: {...query, limit, continue: next}, signal});
		onPage(page.items ?? [], isFirst);
		isFirst = false;
		next = page.metadata?.continue ?? '';
		version = page.metadata?.resourceVersion ?? version;
	} while (next);
	return version;
}

// The events of one watch, until the server ends it.
async function watch(path, {query, signal, onEvent}) {
	const response = await request(path, {query: {...query, watch: '1', allowWatchBookmarks: 'true'}, signal});
	const reader = response.body.getReader();
	const decoder = new TextDecoder();
	let pieces = [], length = 0;
	for (;;) {
		const {done, value} = await reader.read();
		if (done) {
			return;
		}
		let text = decoder.decode(value, {stream: true}), end;
		while ((end = text.indexOf('\n')) >= 0) {
			pieces.push(text.slice(0, end));
			const line = pieces.join('');
			pieces = [];
			length = 0;
			text = text.slice(end + 1);
			if (line.trim()) {
				onEvent(JSON.parse(line));
			}
		}
		pieces.push(text);
		length += text.length;
		if (length > LINE_MAX) {
			await reader.cancel();
			throw new ApiError(0, '', 'An event of the watch is too big.');
		}
	}
}

const pausing = new Set();
export const retryNow = () => pausing.forEach((goOn) => goOn());

// Resolves after a time, or as soon as the machine is online, the page is looked at again, or retryNow() is called.
export function pause(ms, signal) {
	return new Promise((resolve, reject) => {
		const done = (how) => () => {
			clearTimeout(timer);
			pausing.delete(early);
			window.removeEventListener('online', early);
			document.removeEventListener('visibilitychange', early);
			signal?.removeEventListener('abort', aborted);
			how();
		};
		const early = done(resolve);
		const aborted = done(() => reject(new DOMException('aborted', 'AbortError')));
		const timer = setTimeout(early, ms);
		pausing.add(early);
		window.addEventListener('online', early);
		document.addEventListener('visibilitychange', early);
		signal?.addEventListener('abort', aborted);
	});
}

// Lists, then watches, for as long as the signal is not aborted; again from the beginning where the server
// says that its events are gone (410), and after a growing pause where it fails.
//   onReset()             a list begins: what is not in it is gone
//   onItems(items)        some objects of the list
//   onSynced()            the list is whole
//   onEvent(type, object) ADDED, MODIFIED, DELETED
//   onState(state, error) 'live', or 'lost' with why
// Where a list is refused for good (403, 404, 422) it rejects with that.
export async function follow(path, {query, signal, limit, onReset, onItems, onSynced, onEvent, onState}) {
	let version = '', wait = 0;
	while (!signal.aborted) {
		try {
			if (!version) {
				onReset?.();
				version = await list(path, {query, signal, limit, onPage: (items) => onItems(items)});
				onSynced?.();
			}
			onState?.('live');
			const began = performance.now();
			await watch(path, {query: {...query, resourceVersion: version}, signal, onEvent: (event) => {
				const {type, object} = event;
				if (type === 'ERROR') {
					throw new ApiError(object?.code ?? 500, object?.reason, object?.message ?? 'the watch ended', object);
				}
				wait = 0;
				version = object?.metadata?.resourceVersion ?? version;
				if (type !== 'BOOKMARK') {
					onEvent(type, object);
				}
			}});
			// A server may end a watch at any time. One that does so at once is not to be asked in a circle.
			wait = performance.now() - began > WAIT_FIRST ? 0 : Math.min(Math.max(WAIT_FIRST, wait * 2), WAIT_MOST);
		} catch (error) {
			if (error.name === 'AbortError' || signal.aborted || !hasSession()) {
				return;
			}
			if (error.status === 410) {
				// At once the first time; a server whose lists expire while they are read is given time.
				wait = version ? 0 : Math.min(Math.max(WAIT_FIRST, wait * 2), WAIT_MOST);
				version = '';
			} else if ([400, 401, 403, 404, 405, 406, 422].includes(error.status)) {
				throw error;
			} else {
				onState?.('lost', error);
				wait = error.retryAfter || Math.min(Math.max(WAIT_FIRST, wait * 2), WAIT_MOST);
			}
		}
		if (wait) {
			try {
				await pause(wait * (0.75 + Math.random() / 2), signal);
			} catch {
				return;
			}
		}
	}
}
