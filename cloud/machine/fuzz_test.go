package machine_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// For any input, only a proof made by the machine itself is valid. All encodings of a proof count
// as the same one, and it is valid for one cluster only.
func FuzzSecretCheck(f *testing.F) {
	s, now := machine.NewSecret("m-1"), time.Unix(1_900_000_000, 0)
	good, err := s.Prove("lab", now)
	if err != nil {
		f.Fatal(err)
	}
	want, err := s.Check(good.Data, "lab", now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Data, "lab", int64(0))
	f.Add(good.Data, "prod", int64(0))
	f.Add(good.Data, "lab", int64(61))
	f.Add([]byte(`{"instance":"m-1","audience":"lab","expires":9223372036854775807,"mac":""}`), "lab", int64(0))
	f.Fuzz(func(t *testing.T, data []byte, audience string, later int64) {
		at := now.Add(time.Duration(later%1_000_000) * time.Second)
		once, err := s.Check(data, audience, at)
		if err != nil {
			return
		}
		if once != want || audience != "lab" || at.Sub(now).Abs() > machine.ProofLife {
			t.Errorf("%q is believed as %q, for %q, %v later", data, once, audience, at.Sub(now))
		}
		if id, err := machine.Claimed(data); err != nil || id != s.Instance {
			t.Errorf("%q proves %s and claims to be %q, %v", data, s.Instance, id, err)
		}
	})
}
