// Package followtest contains the contract test of control buckets, for every cloud. Only tests may
// import it.
package followtest

import (
	"bytes"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/follow"
)

// Bucket tests an empty bucket against the contract.
func Bucket(t *testing.T, b follow.Bucket) {
	t.Helper()
	const key = "status/manifest.json"
	if _, _, err := b.Changed(t.Context(), key, ""); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is none", err)
	}
	mark := ""
	for _, text := range []string{"one", "two"} {
		if err := b.Put(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
		data, now, err := b.Changed(t.Context(), key, mark)
		if err != nil || string(data) != text || now == mark {
			t.Fatalf("got %q, %q, %v; want %s", data, now, err, text)
		}
		mark = now
		if data, now, err := b.Changed(t.Context(), key, mark); data != nil || now != mark || err != nil {
			t.Errorf("asked again: got %q, %q, %v; want nothing", data, now, err)
		}
	}
	var out bytes.Buffer
	if err := b.Fetch(t.Context(), key, &out); err != nil || out.String() != "two" {
		t.Errorf("got %q, %v; want two", out.String(), err)
	}
	for _, name := range []string{"nowhere", "status/manifest"} {
		if err := b.Fetch(t.Context(), name, &out); cloud.KindOf(err) != cloud.NotFound {
			t.Errorf("got %v, want that there is no %s", err, name)
		}
	}
	if _, _, err := b.Changed(t.Context(), "nowhere", mark); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is none", err)
	}
}
