package hosted

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Checks returns the checks common to all clouds: programs and version, before existing resources.
func (c *Cluster) Checks() []doctor.Check {
	out := []doctor.Check{
		{Name: "programs", Look: c.checkPrograms},
		{Name: "version", Look: c.checkVersion},
	}
	if c.wheelFile() != "" {
		out = append(out, doctor.Check{Name: "harness wheel", Look: c.checkWheel})
	}
	if c.Common.TLS.Own() {
		out = append(out, doctor.Check{Name: "certificate", Look: c.checkCertificate})
	}
	return out
}

// checkCertificate checks the user's certificate, with its key if that is read on this computer.
func (c *Cluster) checkCertificate(ctx context.Context) doctor.Result {
	const needed = "a valid certificate of the name that clients expect, with its key"
	const fix = "give new files with --tls-cert-file and --tls-key, and the name with --tls-name"
	t := c.Common.TLS
	if err := t.CheckUse([]byte(c.given[tlsSecret].value.Reveal()), c.Now()); err != nil {
		return c.FailNew(ctx, err.Error(), needed, fix)
	}
	day, soon := t.Expiry(c.Now())
	if soon {
		return doctor.Unsure("it expires on "+day, needed, fix)
	}
	return doctor.Passed("%s, until %s", t.Name, day)
}

// SecretChecks returns a check for each secret that is read on this computer and stored for the
// cluster.
func (c *Cluster) SecretChecks() []doctor.Check {
	var out []doctor.Check
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		out = append(out, doctor.Check{Name: "secret " + name, Look: func(ctx context.Context) doctor.Result { return c.checkOwnSecret(ctx, name) }})
	}
	return out
}

// Exists reports whether the cluster exists, or may exist. A rule that is newer than a cluster must
// not block its operators, so for an existing cluster such a check only warns.
func (c *Cluster) Exists(ctx context.Context) bool {
	runs, _, err := c.Runs(ctx)
	return err != nil || !runs.IsZero()
}

// FailNew returns a failure for a new cluster and a warning for an existing one.
func (c *Cluster) FailNew(ctx context.Context, found, needed, fix string) doctor.Result {
	if c.Exists(ctx) {
		return doctor.Unsure(found, needed, fix)
	}
	return doctor.Failed(found, needed, fix)
}

func (c *Cluster) checkPrograms(ctx context.Context) doctor.Result {
	archs, err := c.Machines.Architectures()
	if err != nil {
		return doctor.FromError(err, "one architecture per pool")
	}
	needed := "det-deploy for linux/" + strings.Join(archs, " and linux/")
	missing, err := c.missingPrograms(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(missing) > 0 {
		r := doctor.FromError(c.missingProgram(missing), needed)
		r.Found = "missing for linux/" + strings.Join(missing, " and linux/")
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
		return doctor.Failed("an upgrade to "+runs.Version+" is in progress", "a cluster without an upgrade in progress", "det-deploy upgrade --cluster-id "+c.Common.Cluster)
	}
	return doctor.Passed("%s, as the cluster", c.Version)
}

// checkOwnSecret passes if a secret can be read on this computer or is stored already.
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

// CheckConfiguration parses the configuration as the master and its agents will, before there is a
// machine on which they would fail to start. Imagined holds stand-ins for names that the cloud has
// not assigned yet.
func (c *masterFile) CheckConfiguration(imagined Live, err error) doctor.Result {
	const needed = "a valid configuration of the master and its agents"
	var data []byte
	if err == nil {
		data, err = c.masterYAML(imagined)
	}
	if err != nil {
		return doctor.Failed(err.Error(), needed, "correct master_yaml in cluster.yaml, or the file of --master-config-file")
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	var wrong []string
	for _, p := range c.inFragment(c.Refusals(read.Master)) {
		wrong = append(wrong, p.String())
	}
	wrong = append(wrong, c.checkAgentSettings()...)
	if len(wrong) > 0 {
		return doctor.Failed(strings.Join(wrong, "; "), needed, "correct master_yaml and agents.config in cluster.yaml, or the files of --master-config-file and --agent-config-file")
	}
	if given := config.GuardedMounts(read.Master); len(given) > 0 {
		return doctor.Unsure(c.inFragment(given).Error(), needed, "take these mounts out of master_yaml in cluster.yaml, or of the file of --master-config-file: every task would be refused")
	}
	return doctor.Passed("master.yaml and agent.yaml can be read")
}

// inFragment adds line numbers of the user's fragment to the problems that it causes.
func (c *masterFile) inFragment(problems document.Errors) document.Errors {
	const flag = "master-config-file"
	return config.LocateInFragment(c.Settings[flag], "--"+flag, problems)
}

// checkAgentSettings lists the problems of agents.config.
func (c *masterFile) checkAgentSettings() []string {
	raw := c.Agents.Config.JSON()
	if raw == nil {
		return nil
	}
	var wrong []string
	a, own, err := agentconfig.ParseSent(raw, "agents.config")
	for _, key := range own {
		wrong = append(wrong, "agents.config."+key+": has no effect: launched agents get it from their master")
	}
	if err != nil {
		return append(wrong, err.Error())
	}
	for _, p := range agentconfig.Unbuilt(a) {
		wrong = append(wrong, "agents.config: "+p.String())
	}
	return wrong
}
