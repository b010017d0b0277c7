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

// MasterOptions is how a master is run.
type MasterOptions struct {
	// Out receives the master's own log; Terminal is true where a person reads it.
	Out      io.Writer
	Terminal bool
	// OnHold makes a master that tries its store on a copy, shows how that ended, and
	// does nothing else.
	OnHold bool
}

// RunMaster runs a master until ctx ends.
func RunMaster(ctx context.Context, cfg config.Master, o MasterOptions) error {
	p := parts.Of(cfg, masterLog(cfg, o))
	if o.OnHold {
		return master.RunOnHold(ctx, p)
	}
	m, err := master.New(ctx, p)
	if err != nil {
		return err
	}
	return errors.Join(m.Run(ctx), m.Close())
}

// Rehearse tries on a copy of the store whether this program could serve it, and
// returns what it saw.
func Rehearse(ctx context.Context, cfg config.Master, o MasterOptions) (server.Rehearsal, error) {
	return master.Rehearse(ctx, parts.Of(cfg, masterLog(cfg, o)))
}

// Backup writes the store of cfg into a new file, or an object of a bucket, and returns
// its size in bytes. A dry run reads everything and writes nothing.
func Backup(ctx context.Context, cfg config.Master, path string, dryRun bool) (int64, error) {
	return master.Backup(ctx, parts.Of(cfg, slog.DiscardHandler), path, dryRun)
}

// Restore reads a backup into the store of cfg, which must be empty.
func Restore(ctx context.Context, cfg config.Master, path string) error {
	return master.Restore(ctx, parts.Of(cfg, slog.DiscardHandler), path)
}

// NewJoin is what a join token is to be.
type NewJoin = auth.NewJoin

// JoinToken makes a token that lets machines join a pool for a while, with the store of
// cfg. The master may be running.
func JoinToken(ctx context.Context, cfg config.Master, n NewJoin) (token.Text, token.Join, error) {
	return master.JoinToken(ctx, parts.Of(cfg, slog.DiscardHandler), n)
}

// Problems lists what a master refuses of a valid configuration when it starts, beside what
// is not built yet.
func Problems(cfg config.Master) document.Errors { return parts.Problems(cfg) }

// Refusals lists everything that a master refuses of a valid configuration when it starts.
func Refusals(cfg config.Master) document.Errors {
	return append(parts.Problems(cfg), config.Unbuilt(cfg)...)
}

func masterLog(cfg config.Master, o MasterOptions) slog.Handler {
	return logHandler(o.Out, cfg.Log.Level, cfg.Log.Color, o.Terminal)
}
