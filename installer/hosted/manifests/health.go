package manifests

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// Problem describes why the master's machine is unhealthy. It returns "" if the machine reported
// recently that it runs the manifest and is healthy.
func (c *Bucket) Problem(ctx context.Context) (string, error) {
	m, s, err := c.ReadBoth(ctx)
	if err != nil || m.Schema == "" || m.Phase == manifest.Stop {
		return "", err
	}
	return describeHealth(s, m, c.Now()), nil
}

// describeHealth is pure. It checks for silence first, because the last status of a silent machine
// is outdated.
func describeHealth(s manifest.Status, m manifest.Manifest, now time.Time) string {
	silence := now.Sub(s.At).Round(time.Minute)
	switch {
	case s.Schema == "":
		return "the master's machine has not reported yet"
	case silence > 2*manifest.StatusEvery:
		return fmt.Sprintf("the master's machine has not reported for %s", silence)
	case s.Reached(m):
		return ""
	}
	return describeStatus(s, m)
}
