package history

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/history"
)

func TestCreate_whatComesBackIsWhatWasMeant(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, data := c.parent(t, "web"), template(t, "nginx:1")
		meant := wanted(t, parent, 1, data)
		made := c.made(t, parent, 1, data)
		c.cached(t, made)
		for from, revision := range map[string]*appsv1.ControllerRevision{
			"create": made, "read": c.read(t, meant.Name), "informer": world.Got(c.lister.Get(meant.Name))(t),
		} {
			hash := history.HashControllerRevision(revision, new(int32))
			if string(revision.Data.Raw) != string(data) || !history.EqualRevision(revision, meant) {
				t.Errorf("%s: data are %s", from, revision.Data.Raw)
			}
			if revision.Name != history.ControllerRevisionName("web", hash) || revision.Labels[history.ControllerRevisionHashLabel] != hash {
				t.Errorf("%s: %s, labels %v, hash %s", from, revision.Name, revision.Labels, hash)
			}
			if !metav1.IsControlledBy(revision, parent) || revision.Revision != 1 || revision.UID == "" {
				t.Errorf("%s: %+v", from, revision)
			}
		}
	})
}

func TestCreate_sameStateIsTheRevisionThatIsThere(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, data, collisions := c.parent(t, "web"), template(t, "nginx:1"), new(int32)
		first := c.made(t, parent, 1, data)
		again := world.Got(c.CreateControllerRevision(parent, wanted(t, parent, 2, data), collisions))(t)
		if again.UID != first.UID || again.Revision != 1 || *collisions != 0 {
			t.Errorf("%s, number %d, after %d collisions instead of %s", again.UID, again.Revision, *collisions, first.UID)
		}
	})
}

func TestCreate_atOnceMakesOne(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, data := c.parent(t, "web"), template(t, "nginx:1")
		var made [16]*appsv1.ControllerRevision
		var errs [16]error
		var all sync.WaitGroup
		for i := range made {
			meant := wanted(t, parent, int64(i), data)
			all.Go(func() { made[i], errs[i] = c.CreateControllerRevision(parent, meant, new(int32)) })
		}
		all.Wait()
		for i := range made {
			world.Check(t, errs[i])
			if made[i].UID != made[0].UID {
				t.Errorf("%s and %s", made[i].UID, made[0].UID)
			}
		}
	})
}

// colliding finds two states with the same hash.
var colliding = sync.OnceValues(func() (one, other []byte) {
	seen := map[string][]byte{}
	for i := 0; ; i++ {
		data := fmt.Appendf(nil, `{"spec":{"image":"nginx:%d"}}`, i)
		hash := history.HashControllerRevision(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}, new(int32))
		if before, isSeen := seen[hash]; isSeen {
			return before, data
		}
		seen[hash] = data
	}
})

func TestCreate_collisionFindsAnotherName(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, collisions := c.parent(t, "web"), new(int32)
		one, other := colliding()
		first := c.made(t, parent, 1, one)
		meant := wanted(t, parent, 2, other)
		if meant.Name != first.Name {
			t.Fatalf("%s does not collide with %s", other, one)
		}
		second := world.Got(c.CreateControllerRevision(parent, meant, collisions))(t)
		if *collisions != 1 || second.Name == first.Name || second.Name != history.ControllerRevisionName("web", history.HashControllerRevision(second, collisions)) {
			t.Errorf("%s beside %s after %d collisions", second.Name, first.Name, *collisions)
		}
		if history.EqualRevision(first, second) || string(c.read(t, first.Name).Data.Raw) != string(one) || string(c.read(t, second.Name).Data.Raw) != string(other) {
			t.Errorf("data are %s and %s", first.Data.Raw, second.Data.Raw)
		}
		again := world.Got(c.CreateControllerRevision(parent, meant, collisions))(t)
		if again.UID != second.UID || *collisions != 1 {
			t.Errorf("%s after %d collisions instead of %s", again.Name, *collisions, second.Name)
		}
	})
}

func TestList_isOfTheParentOrOfNobody(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, other := c.parent(t, "web"), c.parent(t, "other")
		second, first := c.made(t, parent, 2, template(t, "nginx:2")), c.made(t, parent, 1, template(t, "nginx:1"))
		foreign, orphan := c.made(t, other, 3, template(t, "nginx:1")), c.orphan(t, "orphan")
		c.cached(t, first, second, foreign, orphan)
		mine := fmt.Sprintf("1:%s 2:%s ", first.Name, second.Name)
		for _, expected := range []struct {
			parent   metav1.Object
			selector labels.Set
			found    string
		}{
			{parent, web, mine + "7:orphan "},
			{other, web, fmt.Sprintf("3:%s 7:orphan ", foreign.Name)},
			{parent, labels.Set{history.ControllerRevisionHashLabel: second.Labels[history.ControllerRevisionHashLabel]}, fmt.Sprintf("2:%s ", second.Name)},
			{parent, labels.Set{"app": "db"}, ""},
		} {
			if found := c.listed(t, expected.parent, expected.selector); found != expected.found {
				t.Errorf("%s with %s: %s instead of %s", expected.parent.GetName(), expected.selector, found, expected.found)
			}
		}
	})
}

func TestUpdate_givesANewNumber(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, data := c.parent(t, "web"), template(t, "nginx:1")
		before := c.made(t, parent, 1, data)
		c.cached(t, before)
		world.Got(c.UpdateControllerRevision(before, 5))(t)
		now := c.read(t, before.Name)
		if now.Revision != 5 || now.UID != before.UID || now.ResourceVersion == before.ResourceVersion || string(now.Data.Raw) != string(data) {
			t.Errorf("%+v", now)
		}
		c.cached(t, now)
		world.Got(c.UpdateControllerRevision(now, 5))(t)
		if again := c.read(t, now.Name); again.ResourceVersion != now.ResourceVersion {
			t.Errorf("the same number was written again: %+v", again)
		}
	})
}

// UpdateControllerRevision goes on after a conflict, but with the empty object that client-go has then: it never succeeds, and the error is no
// server's. The controller's next attempt begins with what its informer has.
func TestUpdate_conflictKeepsWhatAnotherWrote(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		stale := c.made(t, c.parent(t, "web"), 1, template(t, "nginx:1"))
		changed := stale.DeepCopy()
		changed.Labels["by"] = "another"
		changed = world.Got(c.revisions.Update(c.ctx, changed, metav1.UpdateOptions{}))(t)
		if _, err := c.UpdateControllerRevision(stale, 5); err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			t.Errorf("a stale update: %v", err)
		}
		if now := c.read(t, stale.Name); now.ResourceVersion != changed.ResourceVersion {
			t.Fatalf("%+v", now)
		}
		c.cached(t, changed)
		world.Got(c.UpdateControllerRevision(world.Got(c.lister.Get(stale.Name))(t), 5))(t)
		if now := c.read(t, stale.Name); now.Revision != 5 || now.Labels["by"] != "another" {
			t.Errorf("%+v", now)
		}
	})
}

func TestDelete_isOfOneRevision(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent := c.parent(t, "web")
		first, second := c.made(t, parent, 1, template(t, "nginx:1")), c.made(t, parent, 2, template(t, "nginx:2"))
		world.Check(t, c.DeleteControllerRevision(first))
		if err := c.DeleteControllerRevision(first); !apierrors.IsNotFound(err) {
			t.Errorf("deleted twice: %v", err)
		}
		c.waits(t, parent, fmt.Sprintf("2:%s ", second.Name))
		if again := c.made(t, parent, 3, template(t, "nginx:1")); again.Name != first.Name || again.UID == first.UID {
			t.Errorf("%s %s after %s %s", again.Name, again.UID, first.Name, first.UID)
		}
	})
}

func TestAdopt_onlyWhatNobodyControls(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, other, orphan := c.parent(t, "web"), c.parent(t, "other"), c.orphan(t, "orphan")
		adopted := world.Got(c.AdoptControllerRevision(parent, parentKind, orphan))(t)
		isBlocking := func(owner metav1.OwnerReference) bool { return owner.Name == "web" && *owner.BlockOwnerDeletion }
		if !metav1.IsControlledBy(adopted, parent) || !slices.ContainsFunc(adopted.OwnerReferences, isBlocking) || !history.EqualRevision(adopted, orphan) {
			t.Errorf("%+v", adopted)
		}
		if _, err := c.AdoptControllerRevision(other, parentKind, adopted); err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			t.Errorf("who knows of the controller asks the server: %v", err)
		}
		if _, err := c.AdoptControllerRevision(other, parentKind, orphan); !apierrors.IsInvalid(err) {
			t.Errorf("a second controller: %v", err)
		}
		again := world.Got(c.AdoptControllerRevision(parent, parentKind, orphan))(t)
		if now := c.read(t, "orphan"); len(again.OwnerReferences) != 1 || len(now.OwnerReferences) != 1 || !metav1.IsControlledBy(now, parent) {
			t.Errorf("%+v", now.OwnerReferences)
		}
	})
}

func TestAdopt_atOnceHasOneWinner(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		orphan := c.orphan(t, "orphan")
		var parents [8]metav1.Object
		var errs [8]error
		for i := range parents {
			parents[i] = c.parent(t, fmt.Sprint("parent-", i))
		}
		var all sync.WaitGroup
		for i := range parents {
			all.Go(func() { _, errs[i] = c.AdoptControllerRevision(parents[i], parentKind, orphan) })
		}
		all.Wait()
		now := c.read(t, "orphan")
		for i := range parents {
			if isWinner := metav1.IsControlledBy(now, parents[i]); isWinner != (errs[i] == nil) || !isWinner && !apierrors.IsInvalid(errs[i]) {
				t.Errorf("%s controls it: %v, and got: %v", parents[i].GetName(), isWinner, errs[i])
			}
		}
		if len(now.OwnerReferences) != 1 {
			t.Errorf("%+v", now.OwnerReferences)
		}
	})
}

func TestRelease_leavesAnOrphan(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, other := c.parent(t, "web"), c.parent(t, "other")
		made := c.made(t, parent, 1, template(t, "nginx:1"))
		if kept := world.Got(c.ReleaseControllerRevision(other, made))(t); kept == nil || !metav1.IsControlledBy(kept, parent) {
			t.Errorf("let go by who does not have it: %+v", kept)
		}
		released := world.Got(c.ReleaseControllerRevision(parent, made))(t)
		if released == nil || len(released.OwnerReferences) != 0 || released.UID != made.UID || !history.EqualRevision(released, made) {
			t.Fatalf("%+v", released)
		}
		adopted := world.Got(c.AdoptControllerRevision(other, parentKind, released))(t)
		c.cached(t, adopted)
		if mine, theirs := c.listed(t, parent, web), c.listed(t, other, web); mine != "" || theirs != fmt.Sprintf("1:%s ", made.Name) {
			t.Errorf("%s and %s", mine, theirs)
		}
		world.Check(t, c.DeleteControllerRevision(adopted))
		if gone := world.Got(c.ReleaseControllerRevision(other, adopted))(t); gone != nil {
			t.Errorf("after its deletion: %+v", gone)
		}
	})
}

// Both patches name the revision's uid, which cannot change. What is released of another is nothing, and no error.
func TestPatches_areOfOneObject(t *testing.T) {
	inBothForms(t, func(t *testing.T, c *controller) {
		parent, before := c.parent(t, "web"), c.orphan(t, "orphan")
		world.Check(t, c.DeleteControllerRevision(before))
		after := c.orphan(t, "orphan")
		if _, err := c.AdoptControllerRevision(parent, parentKind, before); !apierrors.IsInvalid(err) {
			t.Errorf("adopted another of the same name: %v", err)
		}
		adopted := world.Got(c.AdoptControllerRevision(parent, parentKind, after))(t)
		if released := world.Got(c.ReleaseControllerRevision(parent, before))(t); released != nil {
			t.Errorf("released another of the same name: %+v", released)
		}
		if now := c.read(t, "orphan"); now.ResourceVersion != adopted.ResourceVersion {
			t.Errorf("%+v", now)
		}
	})
}
