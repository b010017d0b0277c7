package aws

import (
	"time"

	"github.com/det-deploy/det-deploy/pki"
)

// internalName is what a cluster's certificate is for besides its address. It
// resolves nowhere: agents reach the master by its address and expect this name.
func internalName(cluster string) string { return "master." + cluster + ".det-deploy.internal" }

// staleLeaf says why a leaf has to be made anew, or nothing.
func staleLeaf(leaf, ca pki.Pair, hosts []string, now time.Time) string {
	cert, _, err := leaf.Open()
	if err != nil {
		return "unreadable"
	}
	return pki.Stale(cert, ca.Certificate, hosts, now)
}
