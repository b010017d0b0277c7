package aws

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// Heard is what the master's machine last said that is not as it should be, and
// nothing when it runs what it is told and is well.
func (t *Target) Heard(ctx context.Context) (string, error) {
	m, s, err := t.told(ctx)
	if err != nil || m.Schema == "" || m.Phase == manifest.Stop {
		return "", err
	}
	return heard(s, m, t.Now()), nil
}

// heard is pure. A machine that is silent for long may have been well before.
func heard(s manifest.Status, m manifest.Manifest, now time.Time) string {
	silence := now.Sub(s.At).Round(time.Minute)
	switch {
	case s.Schema == "":
		return "the master's machine has said nothing yet"
	case silence > 2*manifest.StatusEvery:
		return fmt.Sprintf("the master's machine has said nothing for %s", silence)
	case s.Reached(m):
		return ""
	}
	return says(s, m)
}
