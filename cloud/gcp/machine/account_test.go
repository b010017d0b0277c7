package machine_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// A token is valid for an hour and replaced before it expires.
func TestTokenIsRefreshed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		l.giveBucket(t)
		b := l.open(t).Bucket(controlBucket)
		for range 3 {
			must(t, b.Put(t.Context(), "x", nil))
			time.Sleep(30 * time.Minute) //nolint:forbidigo // synctest's clock
		}
		if l.asked.Load() != 2 {
			t.Errorf("got %d questions for a token in an hour, want 2", l.asked.Load())
		}
		l.away.Store(true)
		time.Sleep(30 * time.Minute) //nolint:forbidigo // synctest's clock
		if err := b.Put(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "no route to host") {
			t.Errorf("got %v, want why there is no token", err)
		}
		l.away.Store(false)
		must(t, b.Put(t.Context(), "x", nil))
	})
}

func TestInstanceWithoutServiceAccount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		l.giveBucket(t)
		must(t, api.Run(t.Context(), l.owner, l.owner.Compute.Instances.Stop(l.owner.Project, zone, name)))
		must(t, api.Run(t.Context(), l.owner, l.owner.Compute.Instances.SetServiceAccount(l.owner.Project, zone, name, &compute.InstancesSetServiceAccountRequest{})))
		err := l.open(t).Bucket(controlBucket).Put(t.Context(), "x", nil)
		if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "this instance has no service account") {
			t.Errorf("got %v, want why it may not", err)
		}
	})
}
