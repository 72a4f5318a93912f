//! What kube-rs does with the server that $KUBECONFIG leads to, over rustls. ConfigMaps are typed.
//! ControllerRevisions are dynamic and found by discovery: those of $CLIENTS_DOOR ("annals.dev/v1",
//! say), by default apps/v1. Arguments are names of cases; without any, all run. What is printed has
//! the form of `go test -v`, and the exit status is 1 where a case failed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent,
    WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind, Status};
use kube::discovery::{self, Discovery, Scope};
use kube::runtime::{reflector, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// Far beyond what anything takes: a deadline is there so that a broken case ends.
const PATIENCE: Duration = Duration::from_secs(60);

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;
type Case = (&'static str, fn(World) -> BoxFuture<'static, Outcome>);

macro_rules! cases {
    ($($name:ident,)*) => { &[$((stringify!($name), |world| Box::pin($name(world)))),*] };
}

const CASES: &[Case] = cases![
    test_configmaps,
    test_revisions,
    test_typed_revisions,
    test_lists_are_selected_and_paged,
    test_merge_and_strategic_patches,
    test_server_side_apply,
    test_deletion,
    test_metadata_alone,
    test_watch,
    test_reflector_lists_and_watches,
    test_reflector_watches_alone,
    test_discovery,
];

/// What cases share: a client, and a namespace of their own.
struct World {
    client: Client,
    namespace: String,
}

impl World {
    async fn new() -> Result<World, kube::Error> {
        let client = Client::try_default().await?;
        let wanted = from_json(json!({"metadata": {"generateName": "rust-"}}));
        let made = Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &wanted).await?;
        Ok(World { client, namespace: made.name_any() })
    }

    fn configmaps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn revisions(&self) -> Result<Revisions, kube::Error> {
        let door = std::env::var("CLIENTS_DOOR").unwrap_or("apps/v1".into());
        let (group, version) = door.split_once('/').expect("CLIENTS_DOOR is GROUP/VERSION");
        let (resource, capabilities) =
            discovery::pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, "ControllerRevision")).await?;
        assert_eq!((resource.plural.as_str(), capabilities.scope), ("controllerrevisions", Scope::Namespaced));
        Ok(Revisions { api: Api::namespaced_with(self.client.clone(), &self.namespace, &resource), resource })
    }
}

struct Revisions {
    api: Api<DynamicObject>,
    resource: ApiResource,
}

impl Revisions {
    fn of(&self, name: &str, labels: Value) -> DynamicObject {
        let body = json!({"metadata": {"name": name, "labels": labels}, "revision": 1, "data": {"image": "nginx:1"}});
        let mut object: DynamicObject = from_json(body);
        object.types = DynamicObject::new(name, &self.resource).types;
        object
    }

    async fn create(&self, name: &str) -> Result<DynamicObject, kube::Error> {
        self.api.create(&PostParams::default(), &self.of(name, json!({}))).await
    }

    async fn change(&self, name: &str, revision: u64) -> Result<DynamicObject, kube::Error> {
        self.api.patch(name, &PatchParams::default(), &Patch::Merge(json!({"revision": revision}))).await
    }

    async fn delete(&self, name: &str) -> Result<(), kube::Error> {
        self.api.delete(name, &DeleteParams::default()).await.map(drop)
    }
}

fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object's JSON")
}

fn step(what: &str) {
    println!("    {what}");
}

/// The Status in kube-rs's error, which must be of that code and reason.
#[track_caller]
fn refused<T: Debug>(code: u16, reason: &str, result: Result<T, kube::Error>) -> Status {
    match result {
        Err(kube::Error::Api(status)) => {
            assert_eq!((status.code, status.reason.as_str(), status.is_failure()), (code, reason, true), "{status:?}");
            *status
        }
        other => panic!("{code} {reason} was expected, there is {other:?}"),
    }
}

fn fields(status: &Status) -> Vec<&str> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.field.as_str()).collect()
}

fn names<'a, T: ResourceExt + 'a>(objects: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    objects.into_iter().map(|object| object.name_any()).collect()
}

fn labels(found: &impl ResourceExt) -> Value {
    json!(found.labels())
}

async fn test_configmaps(world: World) -> Outcome {
    let api = world.configmaps();
    let post = PostParams::default();
    step("create");
    let wanted: ConfigMap = from_json(
        json!({"metadata": {"name": "web"}, "data": {"a": "1", "b": "ü\u{1F600}"}, "binaryData": {"c": "AP8="}}),
    );
    let made = api.create(&post, &wanted).await?;
    assert!(made.uid().is_some() && made.creation_timestamp().is_some() && made.resource_version().is_some());
    assert_eq!((&made.data, &made.binary_data), (&wanted.data, &wanted.binary_data));
    assert!(refused(409, "AlreadyExists", api.create(&post, &wanted).await).is_already_exists());

    step("create with a name that is none");
    let nameless: ConfigMap = from_json(json!({"metadata": {"name": "Not_A_Name"}}));
    let status = refused(422, "Invalid", api.create(&post, &nameless).await);
    assert!(status.is_invalid());
    assert_eq!(fields(&status), ["metadata.name"]);

    step("get");
    assert_eq!(api.get("web").await?, made);
    assert_eq!(api.get_opt("absent").await?, None);
    assert!(refused(404, "NotFound", api.get("absent").await).is_not_found());

    step("replace");
    let mut changed = made.clone();
    changed.data = Some(BTreeMap::from([("a".into(), "2".into())]));
    let replaced = api.replace("web", &post, &changed).await?;
    assert_eq!(replaced.data, changed.data);
    assert_ne!(replaced.resource_version(), made.resource_version());
    assert!(refused(409, "Conflict", api.replace("web", &post, &changed).await).is_conflict());

    step("replace, dry run");
    changed.metadata.resource_version = replaced.resource_version();
    changed.data = None;
    let dry = PostParams { dry_run: true, ..post };
    assert_eq!(api.replace("web", &dry, &changed).await?.data, None);
    assert_eq!(api.get("web").await?, replaced);
    Ok(())
}

async fn test_revisions(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    step("create");
    let mut wanted = revisions.of("web-1", json!({"app": "web"}));
    wanted.data["data"] = json!({"float": 1.5, "integer": 9007199254740993_u64, "null": null, "list": [1, "ü", {}]});
    let made = revisions.api.create(&PostParams::default(), &wanted).await?;
    assert_eq!((&made.types, &made.data), (&wanted.types, &wanted.data));
    let again = revisions.api.create(&PostParams::default(), &wanted).await;
    let details = refused(409, "AlreadyExists", again).details.expect("details");
    assert_eq!((details.name.as_str(), details.kind.as_str()), ("web-1", "controllerrevisions"));

    step("get, replace");
    let mut read = revisions.api.get("web-1").await?;
    assert_eq!(read, made);
    read.data["revision"] = json!(2);
    let replaced = revisions.api.replace("web-1", &PostParams::default(), &read).await?;
    assert_eq!(replaced.data["revision"], 2);
    refused(409, "Conflict", revisions.api.replace("web-1", &PostParams::default(), &read).await);

    step("change what never changes");
    read = replaced;
    read.data["data"] = json!({"image": "nginx:2"});
    let status = refused(422, "Invalid", revisions.api.replace("web-1", &PostParams::default(), &read).await);
    assert_eq!(fields(&status), ["data"]);
    Ok(())
}

async fn test_typed_revisions(world: World) -> Outcome {
    let api: Api<ControllerRevision> = Api::namespaced(world.client.clone(), &world.namespace);
    let wanted: ControllerRevision =
        from_json(json!({"metadata": {"name": "typed"}, "revision": 7, "data": {"a": [1.25]}}));
    step("create");
    let made = api.create(&PostParams::default(), &wanted).await?;
    assert_eq!((made.revision, &made.data), (7, &wanted.data));
    step("list");
    assert_eq!(api.list(&ListParams::default()).await?.items, [made]);
    Ok(())
}

async fn test_lists_are_selected_and_paged(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    for n in 0..7 {
        let wanted = revisions.of(&format!("r-{n}"), json!({"even": (n % 2 == 0).to_string()}));
        revisions.api.create(&PostParams::default(), &wanted).await?;
    }
    step("selectors");
    let even = ListParams::default().labels("even=true");
    assert_eq!(names(&revisions.api.list(&even).await?), ["r-0", "r-2", "r-4", "r-6"]);
    assert_eq!(names(&revisions.api.list(&ListParams::default().fields("metadata.name=r-3")).await?), ["r-3"]);

    step("pages");
    let (mut params, mut pages) = (ListParams::default().limit(3), vec![]);
    loop {
        let page = revisions.api.list(&params).await?;
        pages.push((page.items.len(), page.metadata.remaining_item_count));
        let token = page.metadata.continue_.unwrap_or_default();
        if token.is_empty() {
            break;
        }
        params = params.continue_token(&token);
    }
    assert_eq!(pages, [(3, Some(4)), (3, Some(1)), (1, None)]);
    refused(400, "BadRequest", revisions.api.list(&params.continue_token("none")).await);

    step("an old state");
    let list = revisions.api.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.expect("a list's version");
    revisions.delete("r-0").await?;
    let exact = ListParams::default().at(&version).matching(kube::core::params::VersionMatch::Exact);
    assert_eq!(revisions.api.list(&exact).await?.items, list.items);

    step("delete a collection");
    let gone = revisions.api.delete_collection(&DeleteParams::default(), &even).await?.left().expect("the objects");
    assert_eq!(names(&gone), ["r-2", "r-4", "r-6"]);
    assert_eq!(names(&revisions.api.list(&ListParams::default()).await?), ["r-1", "r-3", "r-5"]);
    Ok(())
}

async fn test_merge_and_strategic_patches(world: World) -> Outcome {
    let (revisions, configmaps) = (world.revisions().await?, world.configmaps());
    let params = PatchParams { field_manager: Some("rust".into()), ..PatchParams::default() };
    step("merge patch of a revision");
    revisions.create("p").await?;
    let merge = Patch::Merge(json!({"revision": 2, "metadata": {"labels": {"a": "1", "b": "2"}}}));
    let patched = revisions.api.patch("p", &params, &merge).await?;
    assert_eq!((&patched.data["revision"], labels(&patched)), (&json!(2), json!({"a": "1", "b": "2"})));
    assert!(patched.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some("rust")));
    let merge = Patch::Merge(json!({"metadata": {"labels": {"a": null}}}));
    assert_eq!(labels(&revisions.api.patch("p", &params, &merge).await?), json!({"b": "2"}));
    refused(404, "NotFound", revisions.api.patch("absent", &params, &merge).await);
    let merge = Patch::Merge(json!({"data": {"image": "nginx:2"}}));
    assert_eq!(fields(&refused(422, "Invalid", revisions.api.patch("p", &params, &merge).await)), ["data"]);

    step("strategic patch of a ConfigMap");
    let wanted: ConfigMap = from_json(json!({"metadata": {"name": "p", "finalizers": ["a.b/c"]}}));
    configmaps.create(&PostParams::default(), &wanted).await?;
    let strategic = Patch::Strategic(json!({"metadata": {"finalizers": ["d.e/f"]}, "data": {"a": "1"}}));
    let patched = configmaps.patch("p", &params, &strategic).await?;
    assert_eq!(patched.finalizers(), ["d.e/f", "a.b/c"]);
    assert_eq!(patched.data, Some(BTreeMap::from([("a".into(), "1".into())])));
    Ok(())
}

async fn test_server_side_apply(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    let apply = |app: &str| Patch::Apply(revisions.of("applied", json!({"app": app})));
    step("apply what is not there");
    let made = revisions.api.patch("applied", &PatchParams::apply("one"), &apply("web")).await?;
    let managers: Vec<_> =
        made.managed_fields().iter().map(|entry| (entry.manager.as_deref(), entry.operation.as_deref())).collect();
    assert_eq!(managers, [(Some("one"), Some("Apply"))]);
    step("apply it again");
    let again = revisions.api.patch("applied", &PatchParams::apply("one"), &apply("web")).await?;
    assert_eq!(again.resource_version(), made.resource_version());
    step("conflict");
    let status =
        refused(409, "Conflict", revisions.api.patch("applied", &PatchParams::apply("two"), &apply("db")).await);
    let details = status.details.as_ref().expect("details");
    assert_eq!(
        (fields(&status), details.causes[0].reason.as_str()),
        (vec![".metadata.labels.app"], "FieldManagerConflict")
    );
    step("force");
    let forced = revisions.api.patch("applied", &PatchParams::apply("two").force(), &apply("db")).await?;
    assert_eq!(labels(&forced), json!({"app": "db"}));

    step("apply a ConfigMap, and apply it with less");
    let configmaps = world.configmaps();
    for data in [json!({"a": "1", "b": "2"}), json!({"a": "1"})] {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data});
        let applied = configmaps.patch("applied", &PatchParams::apply("rust").force(), &Patch::Apply(body)).await?;
        assert_eq!(json!(applied.data), data);
    }
    Ok(())
}

async fn test_deletion(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    step("delete another than is there");
    let made = revisions.create("gone").await?;
    let another = Preconditions { uid: Some("another".into()), ..Preconditions::default() };
    refused(409, "Conflict", revisions.api.delete("gone", &DeleteParams::default().preconditions(another)).await);
    step("delete, dry run");
    revisions.api.delete("gone", &DeleteParams::default().dry_run()).await?;
    assert_eq!(revisions.api.get("gone").await?, made);
    step("delete");
    let status = revisions.api.delete("gone", &DeleteParams::background()).await?.right().expect("a Status");
    assert!(status.is_success());
    assert_eq!(status.details.map(|details| details.uid), made.uid());
    refused(404, "NotFound", revisions.api.delete("gone", &DeleteParams::default()).await);

    step("delete what a finalizer keeps");
    let mut kept = revisions.of("kept", json!({}));
    kept.metadata.finalizers = Some(vec!["a.b/c".into()]);
    revisions.api.create(&PostParams::default(), &kept).await?;
    let deleted = revisions.api.delete("kept", &DeleteParams::default()).await?.left().expect("the object");
    assert!(deleted.metadata.deletion_timestamp.is_some());
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    revisions.api.patch("kept", &PatchParams::default(), &release).await?;
    assert_eq!(revisions.api.get_opt("kept").await?, None);
    Ok(())
}

async fn test_metadata_alone(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    let made = revisions.create("m").await?;
    step("get");
    assert_eq!(revisions.api.get_metadata("m").await?.metadata, made.metadata);
    step("list");
    assert_eq!(revisions.api.list_metadata(&ListParams::default()).await?.items[0].metadata, made.metadata);
    Ok(())
}

async fn test_watch(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    let list = revisions.api.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.expect("a list's version");
    for name in ["a", "b"] {
        revisions.create(name).await?;
        revisions.change(name, 2).await?;
        revisions.delete(name).await?;
    }
    step("what has happened since the list");
    let params = WatchParams::default();
    let mut stream = pin!(revisions.api.watch(&params, &version).await?);
    let mut seen = vec![];
    while seen.len() < 6 {
        match stream.try_next().await?.expect("another event") {
            WatchEvent::Added(object) => seen.push(format!("ADDED {} {}", object.name_any(), object.data["revision"])),
            WatchEvent::Modified(object) => {
                seen.push(format!("MODIFIED {} {}", object.name_any(), object.data["revision"]))
            }
            WatchEvent::Deleted(object) => {
                seen.push(format!("DELETED {} {}", object.name_any(), object.data["revision"]))
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => panic!("{status:?}"),
        }
    }
    assert_eq!(seen, ["ADDED a 1", "MODIFIED a 2", "DELETED a 2", "ADDED b 1", "MODIFIED b 2", "DELETED b 2"]);

    step("a selector, whose events are another's");
    let selected = WatchParams::default().labels("app=web");
    let mut stream = pin!(revisions.api.watch(&selected, &version).await?);
    revisions.api.create(&PostParams::default(), &revisions.of("c", json!({"app": "web"}))).await?;
    let leave = Patch::Merge(json!({"metadata": {"labels": {"app": "db"}}}));
    revisions.api.patch("c", &PatchParams::default(), &leave).await?;
    let mut seen = vec![];
    while seen.len() < 2 {
        match stream.try_next().await?.expect("another event") {
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Added(object) => seen.push(("ADDED", object.name_any())),
            WatchEvent::Deleted(object) => seen.push(("DELETED", object.name_any())),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, [("ADDED", "c".to_string()), ("DELETED", "c".to_string())]);
    Ok(())
}

async fn test_reflector_lists_and_watches(world: World) -> Outcome {
    reflects(world, watcher::Config::default().page_size(1)).await
}

async fn test_reflector_watches_alone(world: World) -> Outcome {
    reflects(world, watcher::Config::default().streaming_lists()).await
}

/// A store that a watcher fills holds what is there, after each change.
async fn reflects(world: World, config: watcher::Config) -> Outcome {
    let revisions = world.revisions().await?;
    for name in ["a", "b", "c"] {
        revisions.create(name).await?;
    }
    let writer = reflector::store::Writer::<DynamicObject>::new(revisions.resource.clone());
    let store = writer.as_reader();
    let held = || {
        let mut held: Vec<_> =
            store.state().iter().map(|object| format!("{} {}", object.name_any(), object.data["revision"])).collect();
        held.sort();
        held
    };
    // Without a list kube-rs asks for any state (resourceVersion=0): what is missing in it comes later.
    let lists_old_state = config.initial_list_strategy == watcher::InitialListStrategy::StreamingList;
    let mut stream = pin!(reflector(writer, watcher(revisions.api.clone(), config)));
    step("what is there");
    let (mut seen, mut is_whole) = (vec![], false);
    while !is_whole || seen.len() < 3 {
        match stream.try_next().await?.expect("another event") {
            watcher::Event::Init => {}
            watcher::Event::InitApply(object) => seen.push(object.name_any()),
            watcher::Event::InitDone => {
                is_whole = true;
                assert!(lists_old_state || seen.len() == 3, "{seen:?}");
            }
            watcher::Event::Apply(object) => seen.push(object.name_any()),
            watcher::Event::Delete(object) => panic!("{object:?}"),
        }
    }
    seen.sort();
    assert_eq!(seen, ["a", "b", "c"]);
    assert_eq!(held(), ["a 1", "b 1", "c 1"]);

    step("what changes");
    revisions.change("a", 2).await?;
    let event = stream.next().await.expect("another event")?;
    assert_eq!(event.to_string(), "Apply(a)");
    assert_eq!(held(), ["a 2", "b 1", "c 1"]);
    revisions.create("d").await?;
    let event = stream.next().await.expect("another event")?;
    assert_eq!(event.to_string(), "Apply(d)");
    revisions.delete("b").await?;
    let event = stream.next().await.expect("another event")?;
    assert_eq!(event.to_string(), "Delete(b)");
    assert_eq!(held(), ["a 2", "c 1", "d 1"]);
    let listed = revisions.api.list(&ListParams::default()).await?;
    for object in &listed {
        let held = store.find(|held| held.name_any() == object.name_any()).expect("it is held");
        assert_eq!((&held.metadata, &held.data), (&object.metadata, &object.data));
    }
    Ok(())
}

async fn test_discovery(world: World) -> Outcome {
    let revisions = world.revisions().await?;
    let group = revisions.resource.group.as_str();
    let wanted = GroupVersionKind::gvk(group, &revisions.resource.version, "ControllerRevision");
    let version = world.client.apiserver_version().await?;
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
    step("a group, version by version");
    let found = Discovery::new(world.client.clone()).filter(&[group]).run().await?;
    let (resource, capabilities) = found.resolve_gvk(&wanted).expect("the kind");
    assert_eq!(resource, revisions.resource);
    for verb in ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] {
        assert!(capabilities.supports_operation(verb), "{verb}");
    }
    step("all groups in one document");
    let found = Discovery::new(world.client.clone()).filter(&[group]).run_aggregated().await?;
    assert_eq!(found.resolve_gvk(&wanted).expect("the kind").0, resource);
    Ok(())
}

async fn run(name: &str, case: fn(World) -> BoxFuture<'static, Outcome>) -> bool {
    println!("=== RUN   {name}");
    let outcome =
        tokio::spawn(async move { tokio::time::timeout(PATIENCE, async { case(World::new().await?).await }).await? });
    let has_passed = match outcome.await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            println!("    {error:?}");
            false
        }
        Err(_) => false, // it panicked, and has printed why
    };
    println!("--- {}: {name}", if has_passed { "PASS" } else { "FAIL" });
    has_passed
}

fn main() {
    std::panic::set_hook(Box::new(|panic| println!("    {panic}")));
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    for name in &chosen {
        assert!(CASES.iter().any(|(known, _)| known == name), "there is no case {name}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let cases = CASES.iter().filter(|(name, _)| chosen.is_empty() || chosen.iter().any(|other| other == name));
    let n_failed = cases.filter(|(name, case)| !runtime.block_on(run(name, *case))).count();
    std::process::exit(i32::from(n_failed > 0));
}
