package local

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/pki"
)

// certificates are the cluster's CA and the master's certificate for this machine's addresses. The
// CA's key is not stored: each renewal creates a new CA.
type certificates struct {
	base
	dir string
	// hosts are the names and addresses in the certificate; empty ones are ignored.
	hosts []string
	// given returns the user's files. It is nil if the cluster makes its own.
	given func(context.Context) (map[string][]byte, error)
	// renew is set by Find if the certificate must be renewed, which restarts the process that uses
	// it.
	renew bool
}

// certificates returns the certificates of a cluster with TLS.
func (t *Target) certificates() *certificates {
	c := &certificates{
		base: base{t.newHost(), kindSecret, "tls", nil}, dir: t.Place.pathOf("tls"),
		hosts: []string{"localhost", loopback, "::1", t.TasksAt, t.Spec.AgentAddress},
	}
	if t.Spec.OwnTLS.Own() {
		c.given = t.ownFiles
	}
	return c
}

func (c *certificates) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if !fileExists(c.dir) {
		return resource.Found{}, nil, nil
	}
	if c.given != nil {
		drift, err := c.findGiven(ctx)
		c.renew = len(drift) > 0
		return foundFile(c.kind, c.dir, ""), drift, err
	}
	why := c.staleReason(time.Now())
	c.renew = why != ""
	if !c.renew {
		return foundFile(c.kind, c.dir, ""), nil, nil
	}
	return foundFile(c.kind, c.dir, ""), []resource.Drift{{Path: "validity", Have: why, Want: "two months or more, for all addresses, with its key"}}, nil
}

// staleReason returns the reason to renew the files, or "" if they are valid.
func (c *certificates) staleReason(now time.Time) string {
	var files [3][]byte
	for i, name := range []string{authorityFile, certificateFile, keyFile} {
		data, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			return "unreadable"
		}
		files[i] = data
	}
	leaf, _, err := pki.Pair{Certificate: files[1], Key: files[2]}.Open()
	if err != nil {
		return "unreadable"
	}
	if leaf.Issuer.CommonName != authorityName {
		return "not signed by the cluster's CA"
	}
	return pki.Stale(leaf, files[0], c.hosts, now)
}

// authorityName is the name of the cluster's CA.
const authorityName = "det-deploy local CA"

func (c *certificates) Create(ctx context.Context) error {
	issue := c.given
	if issue == nil {
		issue = c.issueFiles
	}
	files, err := issue(ctx)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := c.h.writeFile(ctx, filepath.Join(c.dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// issueFiles creates a CA and a certificate.
func (c *certificates) issueFiles(context.Context) (map[string][]byte, error) {
	now := time.Now()
	ca, err := pki.NewAuthority(authorityName, now)
	if err != nil {
		return nil, err
	}
	leaf, err := ca.NewLeaf("localhost", c.hosts, now)
	return map[string][]byte{authorityFile: ca.Certificate, keyFile: leaf.Key, certificateFile: leaf.Certificate}, err
}

func (c *certificates) Update(ctx context.Context, _ []resource.Drift) error { return c.Create(ctx) }

func (c *certificates) Delete(ctx context.Context) error { return c.h.removeAll(ctx, c.dir) }
