package kube

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// Quiet redirects client-go's log to log at debug level, because relevant messages are also
// returned as errors. client-go has one global log, so the program calls Quiet once, before it
// opens a client.
func Quiet(log *slog.Logger) {
	klog.SetSlogLogger(slog.New(debugOnly{log.Handler()}))
}

// debugOnly changes the level of records to debug.
type debugOnly struct{ slog.Handler }

func (h debugOnly) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

func (h debugOnly) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, r)
}

func (h debugOnly) WithAttrs(as []slog.Attr) slog.Handler { return debugOnly{h.Handler.WithAttrs(as)} }

func (h debugOnly) WithGroup(name string) slog.Handler { return debugOnly{h.Handler.WithGroup(name)} }

// warnings logs the API server's warnings, which client-go would print.
type warnings struct{ log *slog.Logger }

func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	const misc = 299 // the only code defined for users
	if code == misc && text != "" {
		w.log.DebugContext(ctx, "kubernetes warning", "text", text)
	}
}
