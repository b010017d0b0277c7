package manifests

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// Problem is what the master's machine last said that is not as it should be, and
// nothing when it runs what the manifest says and is healthy.
func (c *Bucket) Problem(ctx context.Context) (string, error) {
	m, s, err := c.ReadBoth(ctx)
	if err != nil || m.Schema == "" || m.Phase == manifest.Stop {
		return "", err
	}
	return describeHealth(s, m, c.Now()), nil
}

// describeHealth is pure. A machine that is silent for long may have been well before.
func describeHealth(s manifest.Status, m manifest.Manifest, now time.Time) string {
	silence := now.Sub(s.At).Round(time.Minute)
	switch {
	case s.Schema == "":
		return "the master's machine has said nothing yet"
	case silence > 2*manifest.StatusEvery:
		return fmt.Sprintf("the master's machine has said nothing for %s", silence)
	case s.Reached(m):
		return ""
	}
	return describeStatus(s, m)
}
