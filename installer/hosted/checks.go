package hosted

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/installer/doctor"
)

// Checks is the checks that are the same in every cloud: programs and version
// before what is brought.
func (c *Cluster) Checks() []doctor.Check {
	out := []doctor.Check{
		{Name: "programs", Look: c.checkPrograms},
		{Name: "version", Look: c.checkVersion},
	}
	if c.wheelFile() != "" {
		out = append(out, doctor.Check{Name: "harness wheel", Look: c.checkWheel})
	}
	return out
}

// SecretChecks is one for each secret of this machine that the cluster keeps.
func (c *Cluster) SecretChecks() []doctor.Check {
	var out []doctor.Check
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		out = append(out, doctor.Check{Name: "secret " + name, Look: func(ctx context.Context) doctor.Result { return c.checkOwnSecret(ctx, name) }})
	}
	return out
}

// Exists reports whether the cluster is there, or may be. A rule that is younger
// than a cluster must not stop who works on it: it warns there.
func (c *Cluster) Exists(ctx context.Context) bool {
	runs, _, err := c.Runs(ctx)
	return err != nil || !runs.IsZero()
}

// FailNew is Fail for a cluster that is to be made, and Unsure for one that exists.
func (c *Cluster) FailNew(ctx context.Context, found, needed, fix string) doctor.Result {
	if c.Exists(ctx) {
		return doctor.Unsure(found, needed, fix)
	}
	return doctor.Failed(found, needed, fix)
}

func (c *Cluster) checkPrograms(ctx context.Context) doctor.Result {
	archs, err := c.Machines.Architectures()
	if err != nil {
		return doctor.FromError(err, "one architecture a pool")
	}
	needed := "det-deploy for linux/" + strings.Join(archs, " and linux/")
	missing, err := c.missingPrograms(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(missing) > 0 {
		e := errMissing(missing)
		r := doctor.FromError(e, needed)
		r.Found = "there is none for linux/" + strings.Join(missing, " and linux/")
		return r
	}
	return doctor.Passed("for linux/%s", strings.Join(archs, " and linux/"))
}

func (c *Cluster) checkVersion(ctx context.Context) doctor.Result {
	const needed = "the version that the cluster runs"
	runs, mode, err := c.Runs(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if err := Newer(runs, c.Release(), c.Common.Cluster); err != nil {
		hint, _ := errors.AsType[*versionError](err)
		return doctor.Failed(err.Error(), needed, hint.Hint())
	}
	switch {
	case runs.Version == "":
		return doctor.Passed("%s, and the cluster is new", c.Version)
	case mode == "hold":
		return doctor.Failed("an upgrade to "+runs.Version+" is under way", "a cluster that serves", "det-deploy upgrade --cluster-id "+c.Common.Cluster)
	}
	return doctor.Passed("%s, as the cluster", c.Version)
}

// checkOwnSecret passes when a secret can be read here, or was stored before.
func (c *Cluster) checkOwnSecret(ctx context.Context, name string) doctor.Result {
	const needed = "a secret that can be read here, or that an earlier run has stored"
	here := c.given[name]
	if here.err == nil {
		return doctor.Passed("can be read here")
	}
	found, _, err := c.keptSecret(name).Find(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if !found.Exists() {
		return doctor.Failed(here.err.Error(), needed, "run the command where the secret is, or refer to one in "+c.Words.Vault+" with "+string(c.Words.Scheme)+":NAME")
	}
	return doctor.Passed("is stored")
}
