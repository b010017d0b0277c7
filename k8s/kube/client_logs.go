package kube

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// Quiet sends what client-go says to itself to log, at debug level whatever it
// thinks of it: what matters of it comes back as an error, too. Client-go has one
// log for the whole process, so the program calls this once, before it opens a
// client.
func Quiet(log *slog.Logger) {
	klog.SetSlogLogger(slog.New(debugOnly{log.Handler()}))
}

// debugOnly passes records on as debug ones.
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

// warnings takes the API server's warnings, which client-go would print.
type warnings struct{ log *slog.Logger }

func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	const misc = 299 // the only code for people
	if code == misc && text != "" {
		w.log.DebugContext(ctx, "kubernetes warning", "text", text)
	}
}
