package local

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/pki"
)

// certificates is a CA of the cluster's own and the master's certificate, for
// this machine's addresses. The CA's key is not kept: each renewal makes another.
type certificates struct {
	base
	dir string
	// hosts are the names and addresses that it is for; empty ones are none.
	hosts []string
	// renew is true after Find said so: who serves it has to start again.
	renew bool
}

func (c *certificates) Find(context.Context) (resource.Found, []resource.Drift, error) {
	if !exists(c.dir) {
		return resource.Found{}, nil, nil
	}
	why := c.stale(time.Now())
	c.renew = why != ""
	if !c.renew {
		return found(c.kind, c.dir, ""), nil, nil
	}
	return found(c.kind, c.dir, ""), []resource.Drift{{Path: "validity", Have: why, Want: "two months or more, for all addresses, with its key"}}, nil
}

// stale says why the files have to be made anew, or nothing.
func (c *certificates) stale(now time.Time) string {
	var files [3][]byte
	for i, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
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
	return pki.Stale(leaf, files[0], c.hosts, now)
}

func (c *certificates) Create(ctx context.Context) error {
	now := time.Now()
	ca, err := pki.NewAuthority("det-deploy local CA", now)
	if err != nil {
		return err
	}
	leaf, err := ca.NewLeaf("localhost", c.hosts, now)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"ca.pem": ca.Certificate, "key.pem": leaf.Key, "cert.pem": leaf.Certificate} {
		if err := c.h.write(ctx, filepath.Join(c.dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

func (c *certificates) Update(ctx context.Context, _ []resource.Drift) error { return c.Create(ctx) }

func (c *certificates) Delete(ctx context.Context) error { return c.h.remove(ctx, c.dir) }
