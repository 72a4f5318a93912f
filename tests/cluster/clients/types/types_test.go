// Package types holds what programs do with the Go types of annals.dev (clients/go/api/annals), which are made from the declarations:
// everything that the server says is in them, and is said again.
package types

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	annalsv1 "annals.dev/clients/go/api/annals/v1"
	annalsv1beta1 "annals.dev/clients/go/api/annals/v1beta1"
	"annals.dev/tests/cluster/clients/world"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(annalsv1.AddToScheme(s))
	utilruntime.Must(annalsv1beta1.AddToScheme(s))
	return s
}()

var versions = []schema.GroupVersion{annalsv1.GroupVersion, annalsv1beta1.GroupVersion}

func typed(t *testing.T) client.Client {
	t.Helper()
	return world.Got(client.New(world.Config(t), client.Options{Scheme: scheme}))(t)
}

// kinds are those of the package, without lists and without what every group has (WatchEvent, ListOptions).
func kinds(gv schema.GroupVersion) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	for name, kind := range scheme.KnownTypes(gv) {
		if strings.Contains(kind.PkgPath(), "clients/go/api/annals") && !strings.HasSuffix(name, "List") {
			found[name] = kind
		}
	}
	return found
}

func TestTypes_haveAllKindsThatAreServed(t *testing.T) {
	t.Parallel()
	asked := world.Got(discovery.NewDiscoveryClientForConfig(world.Config(t)))(t)
	for _, gv := range versions {
		served := map[string]bool{}
		for _, r := range world.Got(asked.ServerResourcesForGroupVersion(gv.String()))(t).APIResources {
			if !strings.Contains(r.Name, "/") {
				served[r.Kind] = true
			}
		}
		have := kinds(gv)
		for kind := range served {
			if have[kind] == nil {
				t.Errorf("%s %s is served, and there is no type of it", gv, kind)
			}
		}
		if len(have) != len(served) {
			t.Errorf("%s: %d types, %d kinds served", gv, len(have), len(served))
		}
	}
}

func TestTypes_areFormatted(t *testing.T) {
	t.Parallel()
	_, here, _, _ := goruntime.Caller(0)
	files := world.Got(filepath.Glob(filepath.Join(filepath.Dir(here), "../../../../clients/go/api/annals/*/*.go")))(t)
	if len(files) < 8 {
		t.Errorf("only %v", files)
	}
	for _, name := range files {
		text := world.Got(os.ReadFile(name))(t)
		if !bytes.Equal(text, world.Got(format.Source(text))(t)) {
			t.Errorf("gofmt would change %s", name)
		}
	}
}

// pointers are the places in memory that a value has shares of.
func pointers(v reflect.Value, found map[uintptr]string, path string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		// The capacity of what was made with no room is shared by all.
		if v.IsNil() || v.Kind() == reflect.Slice && v.Cap() == 0 {
			return
		}
		found[v.Pointer()] = path
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() != reflect.TypeFor[*time.Location]() {
			pointers(v.Elem(), found, path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			pointers(v.Index(i), found, fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			pointers(v.MapIndex(key), found, path+"."+key.String())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[resource.Quantity]() {
			return // immutable within
		}
		for i := range v.NumField() {
			pointers(v.Field(i), found, path+"."+v.Type().Field(i).Name)
		}
	}
}

func TestTypes_copiesAreEqualAndShareNothing(t *testing.T) {
	t.Parallel()
	fill := randfill.NewWithSeed(1).NilChance(0).NumElements(1, 2).MaxDepth(8).Funcs(
		func(q *resource.Quantity, _ randfill.Continue) { *q = resource.MustParse("1") },
		func(at *metav1.Time, _ randfill.Continue) { *at = metav1.Unix(1700000000, 0) },
		func(raw *runtime.RawExtension, _ randfill.Continue) {
			*raw = runtime.RawExtension{Raw: []byte(`{"a":1}`)}
		},
		func(fields *metav1.FieldsV1, _ randfill.Continue) { *fields = metav1.FieldsV1{Raw: []byte(`{}`)} },
	)
	n := 0
	for _, gv := range versions {
		for name, kind := range scheme.KnownTypes(gv) {
			if !strings.Contains(kind.PkgPath(), "clients/go/api/annals") {
				continue
			}
			object := reflect.New(kind).Interface().(runtime.Object)
			fill.Fill(object)
			copied := object.DeepCopyObject()
			if !reflect.DeepEqual(object, copied) {
				t.Errorf("%s %s: the copy differs", gv, name)
			}
			mine, others := map[uintptr]string{}, map[uintptr]string{}
			pointers(reflect.ValueOf(object), mine, name)
			pointers(reflect.ValueOf(copied), others, name)
			if len(mine) < 3 {
				t.Errorf("%s %s: nothing was filled in", gv, name)
			}
			for place, path := range mine {
				if others[place] != "" {
					t.Errorf("%s %s: the copy shares %s", gv, name, path)
				}
			}
			n++
		}
	}
	if n < 20 {
		t.Errorf("only %d types", n)
	}
}

// raw is what the server says at a path.
func raw(t *testing.T, path string) []byte {
	t.Helper()
	config := rest.CopyConfig(world.Config(t))
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, clientgoscheme.Codecs.WithoutConversion()
	return world.Got(world.Got(rest.UnversionedRESTClientFor(config))(t).Get().AbsPath(path).DoRaw(world.Context(t)))(t)
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	world.Check(t, d.Decode(&value))
	return value
}

// checkRoundTrip decodes what the server says of an object into its type, which must know every member, and says it again.
func checkRoundTrip(t *testing.T, text []byte) (kind string) {
	t.Helper()
	var head metav1.TypeMeta
	world.Check(t, json.Unmarshal(text, &head))
	object := world.Got(scheme.New(head.GroupVersionKind()))(t)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(object); err != nil {
		t.Errorf("%s: %v\n%s", head.Kind, err, text)
		return head.Kind
	}
	again := world.Got(json.Marshal(object))(t)
	if was, is := decoded(t, text), decoded(t, again); !reflect.DeepEqual(was, is) {
		t.Errorf("%s is another one after it was a Go object:\n%s\n%s", head.Kind, text, again)
	}
	return head.Kind
}

const data = `{"apiVersion":"v1","number":12345678901234567890,"null":null,"text":"<&>","list":[1,2.50]}`

func objectMeta(ns, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
}

func recorderOf(ns string) *annalsv1.Recorder {
	return &annalsv1.Recorder{ObjectMeta: objectMeta("", ns), Spec: annalsv1.RecorderSpec{
		Resources:         []annalsv1.RecordedResources{{Groups: []string{""}, Resources: []string{"configmaps"}}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
		ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"is": "recorded"}},
		Ignore:            []string{"/metadata/labels/ignored"},
		Redact:            []string{"/data/secret"},
		HistoryLimit:      ptr.To[int32](0),
		MaxObjectBytes:    ptr.To[int64](65536),
		KeepDeleted:       &metav1.Duration{Duration: 90 * time.Minute},
		Salt:              []byte("sixteen bytes or"),
	}}
}

func statefulSetOf(ns string) *annalsv1beta1.StatefulSet {
	labels := map[string]string{"app": "web"}
	return &annalsv1beta1.StatefulSet{ObjectMeta: objectMeta(ns, "web"), Spec: annalsv1beta1.StatefulSetSpec{
		Replicas: ptr.To[int32](2), GenerationPartition: ptr.To[int32](0), RevisionHistoryLimit: ptr.To[int32](2), ServiceName: "web",
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}},
	}}
}

func TestTypes_sayAnEmptyListOfLiveStatesAndNotOneThatIsAbsent(t *testing.T) {
	t.Parallel()
	for _, live := range [][]string{nil, {}} {
		text := string(world.Got(json.Marshal(annalsv1.SnapshotSpec{Live: live}))(t))
		if strings.Contains(text, `"live":[]`) != (live != nil) || strings.Contains(text, `"live":null`) {
			t.Errorf("%v is %s", live, text)
		}
	}
}

func TestTypes_objectsOfEveryKindComeBackAsTheyAre(t *testing.T) {
	t.Parallel()
	ns, c := world.Namespace(t), typed(t)
	create := func(object client.Object) {
		t.Helper()
		world.Check(t, c.Create(world.Context(t), object))
	}
	// The condition is about what the server says once more.
	eventually := func(object client.Object, condition func() bool) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("%+v", object)
			}
		}()
		world.Eventually(t, fmt.Sprintf("%T %s", object, object.GetName()), func() bool {
			world.Check(t, c.Get(world.Context(t), client.ObjectKeyFromObject(object), object))
			return condition()
		})
	}

	revision := &annalsv1.ControllerRevision{ObjectMeta: objectMeta(ns, "first"), Data: runtime.RawExtension{Raw: []byte(data)}, Revision: 7}
	create(revision)
	if !reflect.DeepEqual(decoded(t, revision.Data.Raw), decoded(t, []byte(data))) {
		t.Errorf("%s", revision.Data.Raw)
	}
	create(&annalsv1.Provider{ObjectMeta: objectMeta(ns, "base"), Spec: annalsv1.ProviderSpec{Data: runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}}})
	dependent := &annalsv1.Dependent{ObjectMeta: objectMeta(ns, "app"), Spec: annalsv1.DependentSpec{
		Providers: []annalsv1.DependentReference{{Name: "base"}}, WhenMissing: "Wait"}}
	create(dependent)
	create(statefulSetOf(ns))

	owner := metav1.OwnerReference{APIVersion: "annals.dev/v1", Kind: "ControllerRevision", Name: revision.Name, UID: revision.UID, Controller: ptr.To(true)}
	snapshot := &annalsv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: ns}, Spec: annalsv1.SnapshotSpec{
		Owner: owner, Labels: map[string]string{"e": "f"}, Data: runtime.RawExtension{Raw: []byte(data)}, NamePrefix: "first-"}}
	create(snapshot)
	if snapshot.Status.Result != "Created" || snapshot.Status.Revision == nil || *snapshot.Spec.HistoryLimit != 10 {
		t.Errorf("%+v", snapshot)
	}

	recorder := recorderOf(ns)
	create(recorder)
	t.Cleanup(func() { world.Check(t, c.Delete(world.Context(t), recorderOf(ns))) })
	if *recorder.Spec.HistoryLimit != 0 {
		t.Errorf("zero that was said is %d", *recorder.Spec.HistoryLimit)
	}
	create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "recorded", Labels: map[string]string{"is": "recorded"}}, Data: map[string]string{"key": "value", "secret": "x"}})
	eventually(recorder, func() bool { return len(recorder.Status.Conditions) > 0 })
	var histories annalsv1.HistoryList
	world.Eventually(t, "a history", func() bool {
		world.Check(t, c.List(world.Context(t), &histories, client.InNamespace(ns)))
		return len(histories.Items) == 1 && len(histories.Items[0].Status.Changes) > 0
	})
	if subject := histories.Items[0].Spec.Subject; subject.Kind != "ConfigMap" || subject.Name != "recorded" {
		t.Errorf("%+v", subject)
	}
	eventually(dependent, func() bool { return dependent.Status.Phase == "Implemented" })

	migration := &annalsv1.StorageMigration{ObjectMeta: metav1.ObjectMeta{GenerateName: "types-"},
		Spec: annalsv1.StorageMigrationSpec{Resource: metav1.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}}}
	create(migration)
	t.Cleanup(func() { world.Check(t, c.Delete(world.Context(t), migration)) })
	eventually(migration, func() bool { return meta.IsStatusConditionTrue(migration.Status.Conditions, "Succeeded") })

	seen := map[string]bool{}
	for path, versions := range map[string][]string{
		"namespaces/" + ns + "/controllerrevisions": {"v1", "v1beta1"},
		"namespaces/" + ns + "/dependents":          {"v1", "v1beta1"},
		"namespaces/" + ns + "/histories":           {"v1"},
		"namespaces/" + ns + "/providers":           {"v1", "v1beta1"},
		"namespaces/" + ns + "/statefulsets":        {"v1beta1"},
		"recorders/" + ns:                           {"v1"},
		"storagemigrations/" + migration.Name:       {"v1"},
		"storageversions":                           {"v1"},
	} {
		for _, version := range versions {
			text := raw(t, "/apis/annals.dev/"+version+"/"+path)
			kind := checkRoundTrip(t, text)
			var list struct{ Items []json.RawMessage }
			world.Check(t, json.Unmarshal(text, &list))
			if len(list.Items) > 0 || !strings.HasSuffix(kind, "List") {
				seen[version+"/"+strings.TrimSuffix(kind, "List")] = true
			}
		}
	}
	seen["v1/"+checkRoundTrip(t, postedSnapshot(t, ns, snapshot))] = true
	seen["v1/"+checkRoundTrip(t, postedRecording(t, ns))] = true
	for _, gv := range versions {
		for kind := range kinds(gv) {
			if !seen[gv.Version+"/"+kind] {
				t.Errorf("no %s of %s was looked at", kind, gv)
			}
		}
	}
}

// posted is what the server answers to an object that it does not keep. The path is that of the collection.
func posted(t *testing.T, path string, object client.Object) []byte {
	t.Helper()
	config := rest.CopyConfig(world.Config(t))
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, clientgoscheme.Codecs.WithoutConversion()
	c := world.Got(rest.UnversionedRESTClientFor(config))(t)
	body := world.Got(json.Marshal(object))(t)
	return world.Got(c.Post().AbsPath("/apis/annals.dev/v1/"+path).SetHeader("Content-Type", "application/json").
		Body(body).DoRaw(world.Context(t)))(t)
}

func postedSnapshot(t *testing.T, ns string, snapshot *annalsv1.Snapshot) []byte {
	t.Helper()
	again := snapshot.DeepCopy()
	again.ObjectMeta = metav1.ObjectMeta{Namespace: ns}
	again.SetGroupVersionKind(annalsv1.GroupVersion.WithKind("Snapshot"))
	return posted(t, "namespaces/"+ns+"/snapshots", again)
}

// postedRecording is of the documentation's example, in the test's namespace. Every sighting of it must be recorded.
func postedRecording(t *testing.T, ns string) []byte {
	t.Helper()
	_, here, _, _ := goruntime.Caller(0)
	example := world.Got(os.ReadFile(filepath.Join(filepath.Dir(here), "../../../../tools/reference/examples/annals.dev_v1_recording.yaml")))(t)
	var recording annalsv1.Recording
	world.Check(t, yaml.UnmarshalStrict(example, &recording))
	for i := range recording.Spec.Sightings {
		recording.Spec.Sightings[i].Namespace, recording.Spec.Sightings[i].Subject.Namespace = ns, ns
	}
	answer := posted(t, "recordings", &recording)
	world.Check(t, json.Unmarshal(answer, &recording))
	if len(recording.Spec.Sightings) == 0 || len(recording.Status.Results) != len(recording.Spec.Sightings) {
		t.Errorf("%s", answer)
	}
	for _, result := range recording.Status.Results {
		if result.Result != "Recorded" {
			t.Errorf("%+v", result)
		}
	}
	return answer
}
