// What can be known of a workload from itself and its pods: pure functions of objects of the API.

const RUNNING_UP = ['ContainerCreating', 'PodInitializing'];
const NAMES_MAX = 3;    // pods that a sentence names
const MESSAGE_MAX = 300;

export const isWorkload = (group, kind) => ['Deployment', 'StatefulSet', 'DaemonSet'].includes(kind) && ['apps', 'annals.dev'].includes(group);

// 'a', 'a and b', 'a, b and 4 more'
export function listed(names, most = NAMES_MAX) {
	const shown = names.length > most + 1 ? names.slice(0, most) : names;
	const rest = names.length - shown.length;
	const all = rest ? [...shown, `${rest} more`] : shown;
	return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}

export function selectorText({matchLabels = {}, matchExpressions = []} = {}) {
	const words = {In: 'in', NotIn: 'notin'};
	return [
		...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
		...matchExpressions.map(({key, operator, values = []}) => (words[operator]
			? `${key} ${words[operator]} (${values.join(',')})` : operator === 'Exists' ? key : `!${key}`)),
	].join(',');
}

const cut = (text = '') => (text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text);
const condition = (object, type) => object.status?.conditions?.find((each) => each.type === type);

// Why its containers do not run or are not ready: the first one that says a reason.
function trouble(status) {
	const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
	const of = ({state = {}, ready}) => state.waiting ?? (state.terminated?.exitCode ? state.terminated : !ready && state.terminated) ?? null;
	const found = all.map(of).filter((each) => each?.reason);
	return found.find((each) => !RUNNING_UP.includes(each.reason)) ?? found[0];
}

// {name, uid, owner, hash, state, text, message}. state: ready, pending (no node yet, or its containers start),
// starting (runs, is not Ready), broken (a reason is known why it cannot), failed, succeeded, leaving.
export function podState({metadata, status = {}}) {
	const owner = metadata.ownerReferences?.find((each) => each.controller);
	const labels = metadata.labels ?? {};
	const pod = {
		name: metadata.name, uid: metadata.uid, owner, message: '',
		hash: labels['controller-revision-hash'] ?? '', generation: labels['statefulset-template-revision'] ?? '',
	};
	const is = (state, text, message) => Object.assign(pod, {state, text, message: cut(message)});
	const ready = status.conditions?.find((each) => each.type === 'Ready');
	const scheduled = status.conditions?.find((each) => each.type === 'PodScheduled');
	const why = trouble(status);
	if (metadata.deletionTimestamp) {
		return is('leaving', 'is being deleted', metadata.finalizers?.length ? `finalizers: ${listed(metadata.finalizers)}` : '');
	}
	if (status.phase === 'Failed' || status.phase === 'Succeeded') {
		return is(status.phase.toLowerCase(), status.phase === 'Failed' ? `failed${why || status.reason ? `: ${status.reason ?? why.reason}` : ''}` : 'has ended',
			status.message ?? why?.message);
	}
	if (ready?.status === 'True') {
		return is('ready', 'Ready');
	}
	if (scheduled?.status === 'False') {
		return is('broken', scheduled.reason || 'has no node', scheduled.message);
	}
	if (why && !RUNNING_UP.includes(why.reason)) {
		return is('broken', why.reason, why.message);
	}
	return status.phase === 'Running' ? is('starting', 'not Ready', ready?.message || ready?.reason)
		: is('pending', why?.reason ?? 'Pending', why?.message || ready?.message);
}

// The name of the revision that a pod was made from. A StatefulSet's pods have the whole name in their label, a
// DaemonSet's its end.
export function revisionOf({hash, owner, generation}, workload, revisions) {
	if (owner?.kind === 'ReplicaSet') {
		return owner.name;
	}
	const long = `${workload.metadata.name}-${hash}`;
	const found = revisions.find((each) => each.name === hash) ?? revisions.find((each) => each.name === long) ??
		(hash ? null : revisions.find((each) => String(each.number) === generation));
	return found?.name ?? hash;
}

// ---- progress, and what it waits for ----

const plural = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;
const ordinalOf = (name) => Number(/-(\d+)$/.exec(name)?.[1] ?? NaN);
const detail = ({state, text}) => (['starting', 'pending'].includes(state) ? (text === 'not Ready' || text === 'Pending' ? 'not Ready' : `not Ready (${text})`)
	: state === 'broken' ? `not Ready (${text})` : text);

// The pods that are in the way, without the full stop: the worst one with its reason, then the others.
function waitsFor([first, ...rest]) {
	const verb = ['failed', 'leaving', 'succeeded'].includes(first.state) ? '' : 'is ';
	const more = rest.length ? `; ${listed(rest.map((each) => each.name))} ${rest.length === 1 ? 'is' : 'are'} not Ready, too` : '';
	return `${first.name} ${verb}${detail(first)}${first.message ? `: ${first.message.replace(/[.\s]+$/, '')}` : ''}${more}`;
}

const worst = {broken: 0, failed: 1, starting: 2, pending: 3, leaving: 4, succeeded: 5};
const sortWorst = (pods) => [...pods].sort((a, b) => worst[a.state] - worst[b.state]);
const stateOf = (pods) => (pods.some((each) => each.state === 'broken' || each.state === 'failed') ? 'waiting' : 'moving');
const named = (group) => (group && group.number !== null ? `revision ${group.number}` : 'an unknown revision');

function ofStatefulSet({object, groups, pods, target}) {
	const {spec = {}, status = {}} = object;
	const replicas = spec.replicas ?? 1, start = spec.ordinals?.start ?? 0;
	const strategy = spec.updateStrategy?.type ?? 'RollingUpdate';
	const partition = strategy === 'RollingUpdate' ? Math.min(spec.updateStrategy?.rollingUpdate?.partition ?? spec.generationPartition ?? 0, replicas) : 0;
	const index = (pod) => ordinalOf(pod.name) - start;
	const groupOf = (pod) => groups.find((each) => each.pods.includes(pod));
	const updated = target?.pods.filter((each) => index(each) >= partition && index(each) < replicas) ?? [];
	const done = updated.filter((each) => each.state === 'ready').length;
	const wanted = replicas - partition;
	const old = pods.filter((each) => !target?.pods.includes(each));
	const toReplace = old.filter((each) => index(each) >= partition).sort((a, b) => index(b) - index(a));
	const facts = [
		['Wanted', replicas], ['Ready', status.readyReplicas ?? 0], ['Updated', target?.pods.length ?? 0],
		['Strategy', partition ? `${strategy}, partition ${partition}` : strategy],
	];
	const say = (state, text) => ({state, text, done, wanted, facts});
	const unready = sortWorst(pods.filter((each) => each.state !== 'ready'));

	// Upstream's trap: an ordered update waits for each pod, also for one that the update is to replace.
	const trapped = unready.find((each) => toReplace.includes(each) && each.state !== 'leaving' && index(each) < replicas);
	if (trapped && strategy === 'RollingUpdate' && (spec.podManagementPolicy ?? 'OrderedReady') === 'OrderedReady') {
		const isMended = object.metadata.annotations?.['annals.dev/replace-broken-pods'] === 'true';
		return isMended ? say('moving', `${waitsFor([trapped])}. The controller replaces it: it is of ${named(groupOf(trapped))}.`)
			: say('broken', `${waitsFor([trapped])}. It is of ${named(groupOf(trapped))}, but the controller replaces no pod before ` +
				`this one is Ready. If it never will be, delete it.`);
	}
	if (unready.length) {
		return say(stateOf(unready), `${waitsFor(unready)}.`);
	}
	const surplus = pods.filter((each) => index(each) >= replicas);
	if (surplus.length) {
		return say('moving', `${listed(surplus.map((each) => each.name))} ${surplus.length === 1 ? 'is' : 'are'} to go, since ${plural(replicas, 'pod')} ${replicas === 1 ? 'is' : 'are'} wanted.`);
	}
	if (pods.length < replicas) {
		const there = new Set(pods.map((each) => index(each)));
		const missing = Array.from({length: Math.min(replicas, 10000)}, (_, i) => i).filter((i) => !there.has(i)).map((i) => `${object.metadata.name}-${i + start}`);
		return say('moving', `${listed(missing)} ${missing.length === 1 ? 'is' : 'are'} to be made.`);
	}
	if (strategy === 'OnDelete' && old.length) {
		return say('waiting', `${plural(old.length, 'pod')} ${old.length === 1 ? 'is' : 'are'} of an older revision. With the strategy OnDelete a pod gets the new one when somebody deletes it.`);
	}
	if (toReplace.length) {
		if (spec.minReadySeconds && (status.availableReplicas ?? 0) < (status.readyReplicas ?? 0)) {
			return say('moving', `The pods must have been Ready for ${spec.minReadySeconds} s (minReadySeconds) before the next one is replaced.`);
		}
		return say('moving', `${toReplace[0].name} is replaced next.`);
	}
	if (partition && old.length) {
		return say('waiting', `The partition ${partition} keeps ${listed(old.map((each) => each.name).sort((a, b) => ordinalOf(a) - ordinalOf(b)))} at ${named(groupOf(old[0]))}. All others are updated.`);
	}
	return say('complete', replicas ? `All ${replicas} pods run ${named(target)} and are Ready.` : 'No pods are wanted (replicas: 0).');
}

function ofDeployment({object, pods, target}) {
	const {spec = {}, status = {}} = object;
	const wanted = spec.replicas ?? 1, updated = status.updatedReplicas ?? 0;
	const mine = target?.pods ?? [], done = mine.filter((each) => each.state === 'ready').length;
	const strategy = spec.strategy?.type ?? 'RollingUpdate';
	const {maxSurge, maxUnavailable} = spec.strategy?.rollingUpdate ?? {};
	const facts = [
		['Wanted', wanted], ['Ready', status.readyReplicas ?? 0], ['Updated', updated], ['Available', status.availableReplicas ?? 0],
		['Strategy', strategy === 'RollingUpdate' ? `${strategy}, surge ${maxSurge ?? '25%'}, unavailable ${maxUnavailable ?? '25%'}` : strategy],
	];
	const say = (state, text) => ({state, text, done, wanted, facts});
	const unready = sortWorst(mine.filter((each) => each.state !== 'ready' && each.state !== 'leaving'));
	const failure = condition(object, 'ReplicaFailure'), progressing = condition(object, 'Progressing');
	const because = unready.length ? ` ${waitsFor(unready)}.` : '';
	const older = (status.replicas ?? 0) - updated;
	if (spec.paused) {
		return say('waiting', 'It is paused: nothing is rolled out until somebody resumes it (kubectl rollout resume).');
	}
	if (failure?.status === 'True') {
		return say('broken', `Pods cannot be made: ${cut(failure.message)}.`.replace(/\.+$/, '.'));
	}
	if (progressing?.reason === 'ProgressDeadlineExceeded') {
		return say('broken', `There was no progress for ${spec.progressDeadlineSeconds ?? 600} s (progressDeadlineSeconds).${because}`);
	}
	if (updated < wanted) {
		return say(stateOf(unready), `${updated} of ${plural(wanted, 'pod')} ${updated === 1 ? 'is' : 'are'} of ${named(target)}.${because}`);
	}
	if (older > 0) {
		return say(stateOf(unready), `${plural(older, 'pod')} of older revisions ${older === 1 ? 'is' : 'are'} still to go.${because}`);
	}
	if ((status.availableReplicas ?? 0) < updated) {
		return say(stateOf(unready), `${status.availableReplicas ?? 0} of ${plural(updated, 'updated pod')} ${updated === 1 ? 'is' : 'are'} available.${because}`);
	}
	return say('complete', wanted ? `All ${wanted} pods run ${named(target)} and are Ready.` : 'No pods are wanted (replicas: 0).');
}

function ofDaemonSet({object, pods, target}) {
	const {spec = {}, status = {}} = object;
	const wanted = status.desiredNumberScheduled ?? 0, updated = status.updatedNumberScheduled ?? 0;
	const strategy = spec.updateStrategy?.type ?? 'RollingUpdate';
	const done = target?.pods.filter((each) => each.state === 'ready').length ?? 0;
	const facts = [
		['Nodes', wanted], ['Ready', status.numberReady ?? 0], ['Updated', updated], ['Available', status.numberAvailable ?? 0],
		['Strategy', strategy === 'RollingUpdate' ? `${strategy}, unavailable ${spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1}` : strategy],
	];
	const say = (state, text) => ({state, text, done, wanted, facts});
	const unready = sortWorst(pods.filter((each) => each.state !== 'ready'));
	const because = unready.length ? ` ${waitsFor(unready)}.` : '';
	const old = pods.filter((each) => !target?.pods.includes(each));
	if (strategy === 'OnDelete' && old.length) {
		return say('waiting', `${plural(old.length, 'pod')} ${old.length === 1 ? 'is' : 'are'} of an older revision. With the strategy OnDelete a pod gets the new one when somebody deletes it.${because}`);
	}
	if (updated < wanted) {
		return say(stateOf(unready), `${updated} of ${plural(wanted, 'pod')} ${updated === 1 ? 'is' : 'are'} of ${named(target)}.${because}`);
	}
	if ((status.numberAvailable ?? 0) < wanted) {
		return say(stateOf(unready), `${status.numberAvailable ?? 0} of ${plural(wanted, 'pod')} ${wanted === 1 ? 'is' : 'are'} available.${because}`);
	}
	return say('complete', wanted ? `All ${wanted} pods run ${named(target)} and are Ready.` : 'No node is to run it.');
}

// {state, text, done, wanted, facts}. state: complete, moving (the controller goes on by itself), waiting (for a
// pod that has a reason, or for somebody), broken (somebody must do something). groups: revisions with their pods.
export function progressOf({kind, object, groups}) {
	const pods = groups.flatMap((each) => each.pods);
	const target = groups.find((each) => each.isTarget);
	const of = {StatefulSet: ofStatefulSet, Deployment: ofDeployment, DaemonSet: ofDaemonSet}[kind] ?? ofStatefulSet;
	const found = of({object, groups, pods, target});
	const {metadata, status = {}} = object;
	if (metadata.deletionTimestamp) {
		return {...found, state: 'waiting', text: `It is being deleted${metadata.finalizers?.length ? `, and waits for its finalizers: ${listed(metadata.finalizers)}` : ''}.`};
	}
	if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
		return {...found, state: 'moving', text: 'The controller has not looked at the latest change yet.'};
	}
	return found;
}
