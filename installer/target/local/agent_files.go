package local

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// tokenLife is when to renew an unused join token, which expires 24 hours after `master join-token`
// has created it.
const tokenLife = 20 * time.Hour

// agentFiles is an agent's directory: its configuration, join token and state.
type agentFiles struct {
	base
	place Place
	spec  Spec
	// tasksAt is the address at which containers reach the master.
	tasksAt string
}

func (a *agentFiles) Find(context.Context) (resource.Found, []resource.Drift, error) {
	dir := a.place.agentDir(a.name)
	if !fileExists(dir) {
		return resource.Found{}, nil, nil
	}
	f := foundFile(a.kind, dir, "")
	want, err := agentYAML(a.spec, a.place, a.name, a.tasksAt)
	if err != nil {
		return resource.Found{}, nil, err
	}
	have, err := os.ReadFile(a.place.agentYAML(a.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return resource.Found{}, nil, wrapRefusal("read", dir, err)
	}
	var drift []resource.Drift
	if !bytes.Equal(have, want) {
		drift = append(drift, contentDrift("agent.yaml", have, want, compareAgents)...)
	}
	if have := a.joinToken(time.Now()); have != "" {
		drift = append(drift, resource.Drift{Path: "join-token", Have: have, Want: "good"})
	}
	return f, drift, nil
}

// Create runs the master's own program to create a join token, because the signing key never leaves
// the master's directory.
func (a *agentFiles) Create(ctx context.Context) error {
	if err := a.writeConfig(ctx); err != nil {
		return err
	}
	if a.joinToken(time.Now()) == "" {
		return nil
	}
	token, err := a.h.runProgram(ctx, "master", "join-token", "--config-file", a.place.masterYAML(), "--pool", "default")
	if err != nil {
		return err
	}
	return a.h.writeFile(ctx, a.place.joinToken(a.name), token)
}

// writeConfig writes the agent's configuration.
func (a *agentFiles) writeConfig(ctx context.Context) error {
	want, err := agentYAML(a.spec, a.place, a.name, a.tasksAt)
	if err != nil {
		return err
	}
	return a.h.writeFile(ctx, a.place.agentYAML(a.name), want)
}

// joinToken returns the reason why the agent's join token must be replaced, or "". A token that has
// been used is not needed any more, because the agent has its own credential.
func (a *agentFiles) joinToken(now time.Time) string {
	info, err := os.Stat(a.place.joinToken(a.name))
	switch {
	case err != nil:
		return "missing"
	case now.Sub(info.ModTime()) > tokenLife && !fileExists(filepath.Join(a.place.agentDir(a.name), "data", "credential")):
		return "expired"
	}
	return ""
}

func (a *agentFiles) Update(ctx context.Context, _ []resource.Drift) error { return a.Create(ctx) }

// Delete ends the agent's remaining tasks. They outlive their agent so that the next one can
// re-attach them, but here no agent follows.
func (a *agentFiles) Delete(ctx context.Context) error {
	if config := a.place.agentYAML(a.name); fileExists(config) {
		if _, err := a.h.runProgram(ctx, "agent", "sweep", "--config-file", config); err != nil {
			return err
		}
	}
	err := a.h.removeAll(ctx, a.place.agentDir(a.name))
	if err == nil {
		a.h.removeEmpty(a.place.pathOf("agents"))
	}
	return err
}
