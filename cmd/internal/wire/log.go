package wire

import (
	"io"
	"log"
	"log/slog"

	"github.com/lmittmann/tint"

	"github.com/det-deploy/det-deploy/cmd/internal/logfile"
	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// levels maps the level names of Determined 0.38.1 to those of slog; trace and fatal map to the nearest
// level.
var levels = map[string]slog.Level{
	"trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError, "fatal": slog.LevelError,
}

// logHandler returns the handler for the log of a role: formatted for people on a terminal, and as
// key=value pairs otherwise.
func logHandler(w io.Writer, level string, colour, terminal bool) slog.Handler {
	if terminal {
		return tint.NewTextHandler(w, &tint.Options{Level: levels[level], NoColor: !colour, ReplaceAttr: boundAttr})
	}
	return slog.NewTextHandler(logfile.Rotating(w), &slog.HandlerOptions{Level: levels[level], ReplaceAttr: boundAttr})
}

// takeOverLog lets the lines that libraries write to the standard logger be those of h, at level debug. A service
// of a task, for example, can send net/http what it logs at each visit.
func takeOverLog(h slog.Handler) {
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(h, slog.LevelDebug).Writer())
}

// boundAttr truncates long values, so that a log line has at most some kilobytes.
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
