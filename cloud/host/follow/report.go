package follow

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// reportStatus writes the status after a change and at intervals.
func (f *Follower) reportStatus(ctx context.Context, seen Seen, now time.Time) {
	s := f.currentStatus(seen, now)
	if s.Same(f.said) && now.Sub(f.saidAt) < manifest.StatusEvery {
		return
	}
	s.At = now.UTC()
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = f.Bucket.Put(ctx, manifest.StatusKey, append(data, '\n'))
	}
	if err != nil {
		if f.saidAt.IsZero() || !s.Same(f.said) {
			f.Log.Warn("cannot write the status", "key", manifest.StatusKey, "err", err)
		}
		return
	}
	f.said, f.saidAt = s, now
}

// currentStatus returns the applied version and the reason if it differs from the manifest.
func (f *Follower) currentStatus(seen Seen, now time.Time) manifest.Status {
	s := manifest.Status{Schema: manifest.StatusSchema, Instance: f.Instance, Error: f.trouble}
	if f.state.Wanted != nil {
		s.Generation = f.state.Wanted.Generation
	}
	if a := f.state.Applied; a != nil {
		s.Version, s.Phase, s.ConfigSHA256 = a.Version, a.Phase, a.Files[manifest.ConfigFile].SHA256
		s.Ready = seen.Well && a.Phase != manifest.Stop
		s.Error = cmp.Or(s.Error, f.state.Why)
		if a.Phase != manifest.Stop && !seen.Well && !f.isStarting(now) {
			s.Error = cmp.Or(s.Error, orNothing(f.sick))
		}
	}
	return s
}
