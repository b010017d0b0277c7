package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
)

// ringSize is how many lines of its own log a master shows; at some 200 bytes a
// line, 2 MB.
const ringSize = 10_000

// deps are what the parts of a master depend on.
type deps struct {
	parts       Parts
	ring        *server.Ring
	log         *slog.Logger
	certificate certificate.Source
	binaries    *server.Binaries
	identity    server.Identity

	// Set once the store is open.
	store *store.Store
	lease *store.Lease
	env   Env
}

// openDeps opens everything but the store.
func openDeps(ctx context.Context, p Parts) (*deps, error) {
	d := &deps{parts: p, ring: server.NewRing(ringSize, p.Log)}
	d.log = slog.New(d.ring)
	var err error
	if d.certificate, err = certificate.Open(ctx, p.Config, p.Secrets); err != nil {
		return nil, err
	}
	if d.binaries, err = openBinaries(p.Config.Binaries); err != nil {
		return nil, err
	}
	// The cluster's ID is in the store; a master on hold does not show it.
	d.identity = server.Identity{
		ClusterName: p.Config.ClusterName, MasterID: uuid.NewString(),
		Version: p.Version, Program: d.binaries.Own,
	}
	return d, nil
}

// openBinaries opens the programs that a master hands out, its own among them.
func openBinaries(dir string) (*server.Binaries, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	return server.OpenBinaries(dir, self)
}

// ownProgram is where the program of this process is. On Linux that is a path that
// still leads to it when another file has taken its place.
func ownProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return self, nil
}

// useStore makes s the master's store.
func (d *deps) useStore(s *store.Store, l *store.Lease) {
	d.store, d.lease = s, l
	d.identity.ClusterID = s.Meta().ClusterID
	d.env = Env{
		Config: d.parts.Config, ClusterID: d.identity.ClusterID, MasterID: d.identity.MasterID, Version: d.parts.Version,
		Log: d.log, Certificate: d.certificate, Programs: d.binaries.Hashes,
	}
}

// closeAll closes what is open.
func (d *deps) closeAll() error {
	var err error
	if d.store != nil {
		err = d.store.Close()
	}
	return errors.Join(err, d.binaries.Close())
}
