package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/det-deploy/det-deploy/cmd/internal/wire/parts"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/token"
)

// MasterOptions holds the options of running a master.
type MasterOptions struct {
	// Out receives the master's log. Terminal is true if Out is a terminal.
	Out      io.Writer
	Terminal bool
	// OnHold makes the master rehearse on a copy of its store and serve only the result.
	OnHold bool
}

// RunMaster runs a master until ctx ends.
func RunMaster(ctx context.Context, cfg config.Master, o MasterOptions) error {
	h := masterLog(cfg, o)
	takeOverLog(h)
	p := parts.Of(cfg, h)
	if o.OnHold {
		return master.RunOnHold(ctx, p)
	}
	m, err := master.New(ctx, p)
	if err != nil {
		return err
	}
	return errors.Join(m.Run(ctx), m.Close())
}

// Rehearse tests on a copy of the store whether this program can serve it, and returns the result.
func Rehearse(ctx context.Context, cfg config.Master, o MasterOptions) (server.Rehearsal, error) {
	return master.Rehearse(ctx, parts.Of(cfg, masterLog(cfg, o)))
}

// Backup writes the store of cfg to a new file or a bucket object, and returns its size in bytes. A dry
// run reads the whole store and writes nothing.
func Backup(ctx context.Context, cfg config.Master, path string, dryRun bool) (int64, error) {
	return master.Backup(ctx, parts.Of(cfg, slog.DiscardHandler), path, dryRun)
}

// Restore reads a backup into the store of cfg, which must be empty.
func Restore(ctx context.Context, cfg config.Master, path string) error {
	return master.Restore(ctx, parts.Of(cfg, slog.DiscardHandler), path)
}

// NewJoin describes a new join token.
type NewJoin = auth.NewJoin

// JoinToken creates a token in the store of cfg that lets machines join a pool until it expires. The
// master may be running.
func JoinToken(ctx context.Context, cfg config.Master, n NewJoin) (token.Text, token.Join, error) {
	return master.JoinToken(ctx, parts.Of(cfg, slog.DiscardHandler), n)
}

// Problems lists the errors in a valid configuration that a master reports when it starts, except for
// unsupported features.
func Problems(cfg config.Master) document.Errors { return parts.Problems(cfg) }

// Refusals lists all errors in a valid configuration that a master reports when it starts.
func Refusals(cfg config.Master) document.Errors {
	return append(parts.Problems(cfg), config.Unbuilt(cfg)...)
}

func masterLog(cfg config.Master, o MasterOptions) slog.Handler {
	return logHandler(o.Out, cfg.Log.Level, cfg.Log.Color, o.Terminal)
}
