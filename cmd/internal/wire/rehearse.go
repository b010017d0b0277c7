package wire

import (
	"context"
	"errors"
	"log/slog"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
)

// Rehearse tries on a copy of the store whether this program could serve it, and
// returns what it saw. Nothing listens, and nothing else is changed.
func Rehearse(ctx context.Context, cfg config.Master, o MasterOptions) (r server.Rehearsal, err error) {
	log := slog.New(logHandler(o.Out, cfg.Log.Level, cfg.Log.Color, o.Terminal))
	certificate, err := certificate(ctx, cfg)
	if err != nil {
		return r, err
	}
	binaries, err := openBinaries(cfg)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, binaries.Close()) }()
	r, err = rehearse(ctx, cfg, binaries, server.Config{Identity: identity(cfg, binaries, ""), Certificate: certificate, Log: log})
	return r, err
}
