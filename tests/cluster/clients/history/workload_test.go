package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/history"
)

const limit = 2

// synchronise does what a controller does with each state of a workload: it is the newest revision, or an older one becomes the newest, or there is a
// new one; and of those before it only the newest few stay. What the informer is to have then comes back.
func (c *controller) synchronise(t *testing.T, parent metav1.Object, data []byte) string {
	t.Helper()
	known := world.Got(c.ListControllerRevisions(parent, parentKind, web.AsSelector()))(t)
	history.SortControllerRevisions(known)
	number := int64(1)
	if len(known) > 0 {
		number += known[len(known)-1].Revision
	}
	current := wanted(t, parent, number, data)
	var past []*appsv1.ControllerRevision
	for _, revision := range known {
		if !history.EqualRevision(revision, current) {
			past = append(past, revision)
		}
	}
	switch equal := history.FindEqualRevisions(known, current); {
	case len(equal) == 0:
		current = world.Got(c.CreateControllerRevision(parent, current, new(int32)))(t)
	case equal[0] == known[len(known)-1]:
		current = equal[0]
	default:
		current = world.Got(c.UpdateControllerRevision(equal[0], number))(t)
	}
	for len(past) > limit {
		world.Check(t, c.DeleteControllerRevision(past[0]))
		past = past[1:]
	}
	return numbers(append(past, current))
}

// stored is numbers and images of all revisions that the server has.
func (c *controller) stored(t *testing.T) string {
	t.Helper()
	images := map[string]string{}
	for _, image := range []string{"a", "b", "c", "d"} {
		images[string(template(t, image))] = image
	}
	list := world.Got(c.revisions.List(c.ctx, metav1.ListOptions{}))(t)
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	var texts []string
	for _, revision := range list.Items {
		texts = append(texts, fmt.Sprintf("%d:%s", revision.Revision, images[string(revision.Data.Raw)]))
	}
	return strings.Join(texts, " ")
}

func TestWorkload_rollsForthAndBack(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent := c.parent(t, "web")
		for step, expected := range []struct{ image, stored string }{
			{"a", "1:a"}, {"b", "1:a 2:b"}, {"b", "1:a 2:b"}, {"a", "2:b 3:a"}, {"c", "2:b 3:a 4:c"}, {"d", "3:a 4:c 5:d"}, {"c", "3:a 5:d 6:c"}, {"b", "5:d 6:c 7:b"},
		} {
			c.waits(t, parent, c.synchronise(t, parent, template(t, expected.image)))
			if found := c.stored(t); found != expected.stored {
				t.Errorf("step %d: %s instead of %s", step, found, expected.stored)
			}
		}
	})
}
