package clientgo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"annals.dev/tests/cluster/clients/world"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// surface is every group, version and resource, as text.
func surface(t *testing.T, client discovery.DiscoveryInterface) []string {
	t.Helper()
	_, lists, err := client.ServerGroupsAndResources()
	world.Check(t, err)
	found := []string{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			resource.StorageVersionHash = "" // which aggregated discovery does not have
			resource.Group, resource.Version = "", ""
			if strings.Contains(resource.Name, "/") {
				resource.SingularName = "" // which the others do not have
			}
			found = append(found, list.GroupVersion+" "+text(t, resource))
		}
	}
	slices.Sort(found)
	return found
}

func TestDiscovery_aggregatedAndLegacyAgree(t *testing.T) {
	t.Parallel()
	asked := &requests{}
	aggregated := world.Got(discovery.NewDiscoveryClientForConfig(asked.over(world.Config(t))))(t)
	legacy := world.Got(discovery.NewDiscoveryClientForConfig(world.Config(t)))(t)
	legacy.UseLegacyDiscovery = true
	same(t, surface(t, aggregated), surface(t, legacy))
	if len(asked.seen) != 2 {
		t.Errorf("%d requests for aggregated discovery", len(asked.seen))
	}
	for _, request := range asked.seen {
		if !strings.Contains(request.Header.Get("Accept"), "as=APIGroupDiscoveryList") {
			t.Errorf("asked with %v", request.Header)
		}
	}
}

func TestDiscovery_v2(t *testing.T) {
	t.Parallel()
	client := world.Clientset(t, world.Config(t)).Discovery().RESTClient()
	body := world.Got(client.Get().AbsPath("/apis").SetHeader("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").DoRaw(world.Context(t)))(t)
	var list apidiscovery.APIGroupDiscoveryList
	world.Check(t, json.Unmarshal(body, &list))
	for _, group := range list.Items {
		for _, version := range group.Versions {
			if version.Freshness != apidiscovery.DiscoveryFreshnessCurrent || len(version.Resources) == 0 {
				t.Errorf("%s/%s is %s with %d resources", group.Name, version.Version, version.Freshness, len(version.Resources))
			}
		}
	}
}

func TestDiscovery_restMapper(t *testing.T) {
	t.Parallel()
	client := memory.NewMemCacheClient(world.Clientset(t, world.Config(t)).Discovery())
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil)
	for _, name := range []string{"controllerrevisions", "controllerrevision", "controllerrevisions.v1.apps"} {
		versioned, plain := schema.ParseResourceArg(name)
		if versioned == nil {
			versioned = &schema.GroupVersionResource{Resource: plain.Resource, Group: plain.Group}
		}
		if kind := world.Got(mapper.KindFor(*versioned))(t); kind != appsv1.SchemeGroupVersion.WithKind("ControllerRevision") {
			t.Errorf("%s is %s", name, kind)
		}
	}
	mapping := world.Got(mapper.RESTMapping(schema.GroupKind{Kind: "Namespace"}, "v1"))(t)
	if mapping.Resource.Resource != "namespaces" || mapping.Scope.Name() != "root" {
		t.Errorf("%+v", mapping)
	}
	if kind := world.Got(mapper.KindFor(schema.GroupVersionResource{Resource: "ns"}))(t); kind.Kind != "Namespace" {
		t.Errorf("ns is %s", kind)
	}
	if _, err := mapper.KindFor(schema.GroupVersionResource{Resource: "gadgets"}); err == nil {
		t.Error("gadgets are a kind")
	}
}

// What kubectl keeps on disk is asked for again with its ETag, and answered 304.
func TestDiscovery_isCachedOnDisk(t *testing.T) {
	t.Parallel()
	folder, answers := t.TempDir(), []int{}
	for range 2 {
		config := world.Config(t)
		client := world.Got(disk.NewCachedDiscoveryClientForConfig(config, folder+"/discovery", folder+"/http", time.Minute))(t)
		answers = append(answers, len(surface(t, client)))
		client.Invalidate()
		answers = append(answers, len(surface(t, client)))
	}
	if answers[0] == 0 || slices.Min(answers) != slices.Max(answers) {
		t.Errorf("%v resources", answers)
	}
}

func TestDiscovery_etagsSaveTheBody(t *testing.T) {
	t.Parallel()
	transport := world.Got(rest.TransportFor(world.Config(t)))(t)
	for _, path := range []string{"/apis", "/api", "/openapi/v2", "/openapi/v3/apis/apps/v1"} {
		ask := func(etag string) *http.Response {
			request := world.Got(http.NewRequest(http.MethodGet, world.Config(t).Host+path, nil))(t)
			if strings.HasPrefix(path, "/api") {
				request.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			}
			request.Header.Set("If-None-Match", etag)
			answer := world.Got(transport.RoundTrip(request))(t)
			answer.Body.Close()
			return answer
		}
		first := ask("")
		if etag := first.Header.Get("Etag"); first.StatusCode != http.StatusOK || etag == "" || ask(etag).StatusCode != http.StatusNotModified || ask(`"other"`).StatusCode != http.StatusOK {
			t.Errorf("%s: %d, ETag %q", path, first.StatusCode, etag)
		}
	}
}

func TestDiscovery_serverVersionAndHealth(t *testing.T) {
	t.Parallel()
	client := world.Clientset(t, world.Config(t)).Discovery()
	if version := world.Got(client.ServerVersion())(t); version.Major != "1" || version.Minor != "36" {
		t.Errorf("%+v", version)
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		if body := world.Got(client.RESTClient().Get().AbsPath(path).DoRaw(world.Context(t)))(t); string(body) != "ok" {
			t.Errorf("%s: %s", path, body)
		}
	}
}
