package wire

import (
	"io"
	"log/slog"

	"github.com/lmittmann/tint"

	"github.com/det-deploy/det-deploy/cmd/internal/logfile"
	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// levels are the names of Determined 0.38.1 on slog's scale; trace and fatal
// have no counterpart and mean their neighbours.
var levels = map[string]slog.Level{
	"trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError, "fatal": slog.LevelError,
}

// logHandler writes a role's own log: for people on a terminal, as key=value
// pairs elsewhere.
func logHandler(w io.Writer, level string, colour, terminal bool) slog.Handler {
	if terminal {
		return tint.NewTextHandler(w, &tint.Options{Level: levels[level], NoColor: !colour, ReplaceAttr: boundAttr})
	}
	return slog.NewTextHandler(logfile.Rotating(w), &slog.HandlerOptions{Level: levels[level], ReplaceAttr: boundAttr})
}

// boundAttr cuts values that are not bounded where they are logged: a line of a log is some kilobytes at most.
func boundAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(excerpt.Message(v))
	case error:
		if text := v.Error(); len(text) > excerpt.MessageBytes {
			a.Value = slog.StringValue(excerpt.Message(text))
		}
	}
	return a
}
