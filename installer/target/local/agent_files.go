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

// tokenLife is when an unused join token is renewed: before the 24 hours are over
// for which `master join-token` makes it.
const tokenLife = 20 * time.Hour

// agentFiles is an agent's directory: its configuration, the token it joins
// with, and what it keeps.
type agentFiles struct {
	base
	place Place
	spec  Spec
	// tasksAt is where containers reach the master.
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
		drift = append(drift, resource.Drift{Path: "agent.yaml", Have: digestOf(have), Want: digestOf(want)})
	}
	if have := a.joinToken(time.Now()); have != "" {
		drift = append(drift, resource.Drift{Path: "join-token", Have: have, Want: "good"})
	}
	return f, drift, nil
}

// Create asks the master's own program for a join token: the key that signs it
// never leaves the master's directory.
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

// joinToken says what is wrong with the agent's join token, or nothing. One that has
// served is not needed any more: the agent keeps a credential of its own.
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

// Delete ends what the agent's tasks left running: they outlive an agent that
// stops, so that another one may take them up, and here none will.
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
