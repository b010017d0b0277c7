package hosted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// Checks is the checks that are the same in every cloud: programs and version
// before what is brought.
func (c *Cluster) Checks() []doctor.Check {
	return []doctor.Check{
		{Name: "programs", Look: c.checkPrograms},
		{Name: "version", Look: c.checkVersion},
	}
}

// SecretChecks is one for each secret of this machine that the cluster keeps.
func (c *Cluster) SecretChecks() []doctor.Check {
	var out []doctor.Check
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		out = append(out, doctor.Check{Name: "secret " + name, Look: func(ctx context.Context) doctor.Result { return c.checkOwnSecret(ctx, name) }})
	}
	return out
}

// Pass says what was found.
func Pass(found string, args ...any) doctor.Result {
	return doctor.Result{Answer: doctor.Pass, Found: fmt.Sprintf(found, args...)}
}

// Fail says what was found, what is needed, and what to do.
func Fail(found, needed, fix string) doctor.Result {
	return doctor.Result{Answer: doctor.Fail, Found: found, Needed: needed, Fix: fix}
}

// Unsure is Fail for what may be well.
func Unsure(found, needed, fix string) doctor.Result {
	return doctor.Result{Answer: doctor.Unknown, Found: found, Needed: needed, Fix: fix}
}

// Failed is a check that could not be made. A missing permission to look is no
// reason to stop: the call that needs it will fail by itself.
func Failed(err error, needed string) doctor.Result {
	fix := ""
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		fix = h.Hint()
	}
	switch cloud.KindOf(err) {
	case cloud.NotFound, cloud.Invalid:
		return Fail(err.Error(), needed, fix)
	case cloud.Denied, cloud.Unknown, cloud.Unavailable, cloud.RateLimited, cloud.Ambiguous, cloud.Conflict, cloud.Quota, cloud.NoCapacity:
	}
	return Unsure(err.Error(), needed, fix)
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
		return Unsure(found, needed, fix)
	}
	return Fail(found, needed, fix)
}

func (c *Cluster) checkPrograms(ctx context.Context) doctor.Result {
	archs, err := c.Machines.Architectures()
	if err != nil {
		return Failed(err, "one architecture a pool")
	}
	needed := "det-deploy for linux/" + strings.Join(archs, " and linux/")
	missing, err := c.missingPrograms(ctx)
	if err != nil {
		return Failed(err, needed)
	}
	if len(missing) > 0 {
		e := errMissing(missing)
		r := Failed(e, needed)
		r.Found = "there is none for linux/" + strings.Join(missing, " and linux/")
		return r
	}
	return Pass("for linux/%s", strings.Join(archs, " and linux/"))
}

func (c *Cluster) checkVersion(ctx context.Context) doctor.Result {
	const needed = "the version that the cluster runs"
	runs, mode, err := c.Runs(ctx)
	if err != nil {
		return Failed(err, needed)
	}
	if err := Newer(runs, c.Release(), c.Common.Cluster); err != nil {
		hint, _ := errors.AsType[*versionError](err)
		return Fail(err.Error(), needed, hint.Hint())
	}
	switch {
	case runs.Version == "":
		return Pass("%s, and the cluster is new", c.Version)
	case mode == "hold":
		return Fail("an upgrade to "+runs.Version+" is under way", "a cluster that serves", "det-deploy upgrade --cluster-id "+c.Common.Cluster)
	}
	return Pass("%s, as the cluster", c.Version)
}

// skewLimit is when clouds begin to refuse signatures.
const skewLimit = 5 * time.Minute

// CheckClock compares this machine's clock with the cloud's, which is called by.
func (c *Cluster) CheckClock(theirs time.Time, by, needed string) doctor.Result {
	skew := c.Now().Sub(theirs).Round(time.Second)
	if skew.Abs() > skewLimit {
		return Fail(fmt.Sprintf("this machine's clock is %s off", skew), needed, "set the clock, for example with `timedatectl set-ntp true`")
	}
	return Pass("%s off %s's", skew, by)
}

// checkOwnSecret passes when a secret can be read here, or was stored before.
func (c *Cluster) checkOwnSecret(ctx context.Context, name string) doctor.Result {
	const needed = "a secret that can be read here, or that an earlier run has stored"
	here := c.given[name]
	if here.err == nil {
		return Pass("can be read here")
	}
	found, _, err := c.keptSecret(name).Find(ctx)
	if err != nil {
		return Failed(err, needed)
	}
	if !found.Exists() {
		return Fail(here.err.Error(), needed, "run the command where the secret is, or refer to one in "+c.Words.Vault+" with "+string(c.Words.Scheme)+":NAME")
	}
	return Pass("is stored")
}
