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

const are = (n) => (n === 1 ? 'is' : 'are');
const plural = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;
const sentence = (text) => `${text.replace(/[.\s]+$/, '')}.`;
const namesOf = (pods) => listed(pods.map((each) => each.name));
const named = (group) => (group && group.number !== null ? `revision ${group.number}` : 'an unknown revision');
const WORST = ['broken', 'failed', 'starting', 'pending', 'leaving', 'succeeded'];
const unreadyOf = (pods) => pods.filter((each) => each.state !== 'ready').sort((a, b) => WORST.indexOf(a.state) - WORST.indexOf(b.state));
const stateOf = ([first]) => (['broken', 'failed'].includes(first?.state) ? 'waiting' : 'moving');

// The pods that are in the way: the worst one with its reason, then the others.
function waitsFor([{name, state, text, message}, ...rest]) {
	const reason = ['not Ready', 'Pending'].includes(text) ? '' : ` (${text})`;
	const is = ['broken', 'starting', 'pending'].includes(state) ? `is not Ready${reason}` : text;
	return sentence(`${name} ${is}${message ? `: ${message.replace(/[.\s]+$/, '')}` : ''}${rest.length ? `; ${namesOf(rest)} ${are(rest.length)} not Ready, too` : ''}`);
}

const byHand = (old) => `${plural(old.length, 'pod')} ${are(old.length)} of an older revision. With the strategy OnDelete a pod gets the new one when somebody deletes it.`;
const allRun = (n, target) => ['complete', n ? `All ${n} pods run ${named(target)} and are Ready.` : 'No pods are wanted.'];

function ofStatefulSet({metadata, spec = {}, status = {}}, groups, pods, target) {
	const replicas = spec.replicas ?? 1, start = spec.ordinals?.start ?? 0;
	const strategy = spec.updateStrategy?.type ?? 'RollingUpdate', isRolling = strategy === 'RollingUpdate';
	const partition = isRolling ? Math.min(spec.updateStrategy?.rollingUpdate?.partition ?? spec.generationPartition ?? 0, replicas) : 0;
	const index = ({name}) => Number(/-(\d+)$/.exec(name)?.[1] ?? NaN) - start;
	const updated = target?.pods ?? [], old = pods.filter((each) => !updated.includes(each)).sort((a, b) => index(b) - index(a));
	const toReplace = old.filter((each) => index(each) >= partition), unready = unreadyOf(pods);
	const found = {
		done: updated.filter((each) => each.state === 'ready' && index(each) >= partition && index(each) < replicas).length, wanted: replicas - partition,
		facts: [['Wanted', replicas], ['Ready', status.readyReplicas ?? 0], ['Updated', updated.length],
			['Strategy', partition ? `${strategy}, partition ${partition}` : strategy]],
	};
	const say = (state, text) => ({...found, state, text});
	const of = (pod) => named(groups.find((each) => each.pods.includes(pod)));

	// Upstream's trap: an ordered update waits for each pod, also for one that the update is to replace.
	const trapped = unready.find((each) => toReplace.includes(each) && each.state !== 'leaving' && index(each) < replicas);
	if (trapped && isRolling && spec.podManagementPolicy !== 'Parallel') {
		return metadata.annotations?.['annals.dev/replace-broken-pods'] === 'true'
			? say('moving', `${waitsFor([trapped])} The controller replaces it: it is of ${of(trapped)}.`)
			: say('broken', `${waitsFor([trapped])} It is of ${of(trapped)}, but the controller replaces no pod before this one is Ready. If it never will be, delete it.`);
	}
	if (unready.length) {
		return say(stateOf(unready), waitsFor(unready));
	}
	const surplus = pods.filter((each) => index(each) >= replicas);
	if (surplus.length) {
		return say('moving', `${namesOf(surplus)} ${are(surplus.length)} to go: ${plural(replicas, 'pod')} ${are(replicas)} wanted.`);
	}
	if (pods.length < replicas) {
		const there = new Set(pods.map(index)), missing = [];
		for (let i = 0; i < replicas && missing.length < 100; i++) {
			if (!there.has(i)) {
				missing.push(`${metadata.name}-${i + start}`);
			}
		}
		return say('moving', `${listed(missing)} ${are(missing.length)} to be made.`);
	}
	if (!isRolling && old.length) {
		return say('waiting', byHand(old));
	}
	if (toReplace.length) {
		return say('moving', spec.minReadySeconds && (status.availableReplicas ?? 0) < (status.readyReplicas ?? 0)
			? `The pods must have been Ready for ${spec.minReadySeconds} s (minReadySeconds) before the next one is replaced.` : `${toReplace[0].name} is replaced next.`);
	}
	return old.length ? say('waiting', `The partition ${partition} keeps ${namesOf(old.reverse())} at ${of(old[0])}. All others are updated.`)
		: say(...allRun(replicas, target));
}

function ofDeployment({status = {}, spec = {}}, target) {
	const wanted = spec.replicas ?? 1, updated = status.updatedReplicas ?? 0, older = (status.replicas ?? 0) - updated;
	const {type = 'RollingUpdate', rollingUpdate: {maxSurge = '25%', maxUnavailable = '25%'} = {}} = spec.strategy ?? {};
	const mine = target?.pods ?? [], unready = unreadyOf(mine.filter((each) => each.state !== 'leaving'));
	const available = status.availableReplicas ?? 0;
	const condition = (name) => status.conditions?.find((each) => each.type === name);
	const failure = condition('ReplicaFailure'), progressing = condition('Progressing');
	const say = (state, text) => ({state, text, done: mine.filter((each) => each.state === 'ready').length, wanted, facts: [
		['Wanted', wanted], ['Ready', status.readyReplicas ?? 0], ['Updated', updated], ['Available', available],
		['Strategy', type === 'RollingUpdate' ? `${type}, surge ${maxSurge}, unavailable ${maxUnavailable}` : type]]});
	const goesOn = (text) => say(stateOf(unready), unready.length ? `${text} ${waitsFor(unready)}` : text);
	if (spec.paused) {
		return say('waiting', 'It is paused: nothing is rolled out until somebody resumes it (kubectl rollout resume).');
	}
	if (failure?.status === 'True') {
		return say('broken', sentence(`Pods cannot be made: ${cut(failure.message)}`));
	}
	if (progressing?.reason === 'ProgressDeadlineExceeded') {
		return {...goesOn(`There was no progress for ${spec.progressDeadlineSeconds ?? 600} s (progressDeadlineSeconds).`), state: 'broken'};
	}
	return updated < wanted ? goesOn(`${updated} of ${plural(wanted, 'pod')} ${are(updated)} of ${named(target)}.`)
		: older > 0 ? goesOn(`${plural(older, 'pod')} of older revisions ${are(older)} still to go.`)
			: available < updated ? goesOn(`${available} of ${plural(updated, 'updated pod')} ${are(available)} available.`)
				: say(...allRun(wanted, target));
}

function ofDaemonSet({spec = {}, status = {}}, pods, target) {
	const wanted = status.desiredNumberScheduled ?? 0, updated = status.updatedNumberScheduled ?? 0, available = status.numberAvailable ?? 0;
	const {type = 'RollingUpdate', rollingUpdate: {maxUnavailable = 1} = {}} = spec.updateStrategy ?? {};
	const unready = unreadyOf(pods), mine = target?.pods ?? [], old = pods.filter((each) => !mine.includes(each));
	const say = (state, text) => ({state, text, done: mine.filter((each) => each.state === 'ready').length, wanted, facts: [
		['Nodes', wanted], ['Ready', status.numberReady ?? 0], ['Updated', updated], ['Available', available],
		['Strategy', type === 'RollingUpdate' ? `${type}, unavailable ${maxUnavailable}` : type]]});
	const goesOn = (text, state) => say(state ?? stateOf(unready), unready.length ? `${text} ${waitsFor(unready)}` : text);
	return type === 'OnDelete' && old.length ? goesOn(byHand(old), 'waiting')
		: updated < wanted ? goesOn(`${updated} of ${plural(wanted, 'pod')} ${are(updated)} of ${named(target)}.`)
			: available < wanted ? goesOn(`${available} of ${plural(wanted, 'pod')} ${are(available)} available.`)
				: say(...allRun(wanted, target));
}

// {state, text, done, wanted, facts}. state: complete, moving (the controller goes on by itself), waiting (for a
// pod that has a reason, or for somebody), broken (somebody must do something). groups: revisions with their pods.
export function progressOf({kind, object, groups}) {
	const pods = groups.flatMap((each) => each.pods), target = groups.find((each) => each.isTarget), {metadata} = object;
	const found = kind === 'Deployment' ? ofDeployment(object, target) : kind === 'DaemonSet' ? ofDaemonSet(object, pods, target)
		: ofStatefulSet(object, groups, pods, target);
	if (metadata.deletionTimestamp) {
		return {...found, state: 'waiting', text: `It is being deleted${metadata.finalizers?.length ? `, and waits for its finalizers: ${listed(metadata.finalizers)}` : ''}.`};
	}
	return (object.status?.observedGeneration ?? 0) < (metadata.generation ?? 0)
		? {...found, state: 'moving', text: 'The controller has not looked at the latest change yet.'} : found;
}
