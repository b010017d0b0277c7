package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	clusterlog "github.com/det-deploy/det-deploy/cloud/gcp/log"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
)

// The limits of Cloud Logging. https://cloud.google.com/logging/quotas
const (
	// maxEntries is the maximum number of entries per request. Batches stay well below the limit of
	// 10 MB.
	maxEntries = 1000
	// maxText leaves room for the labels of an entry, whose limit is 256 KB.
	maxText = 250 << 10
)

// Log is a log of the project. It is created by its first entry.
type Log struct {
	// ID is its log ID: "det-deploy-lab".
	ID string

	self    self
	clients api.Clients
	log     *slog.Logger
}

var _ journal.Sink = (*Log)(nil)

// Put implements journal.Sink. Entries that are sent twice are stored once, because an entry has
// the ID of its line.
func (l *Log) Put(ctx context.Context, stream string, events []journal.Event) error {
	instance, unit, _ := strings.Cut(stream, "/")
	for some := range slices.Chunk(events, maxEntries) {
		in := &logging.WriteLogEntriesRequest{
			LogName: api.LogName(l.self.project, l.ID), PartialSuccess: true,
			Resource: &logging.MonitoredResource{Type: monitoredType, Labels: l.self.monitored()},
			Labels:   map[string]string{clusterlog.LabelInstance: instance, clusterlog.LabelUnit: unit},
		}
		for _, e := range some {
			in.Entries = append(in.Entries, entryOf(e))
		}
		if err := l.write(ctx, in); err != nil {
			return fmt.Errorf("write to log %s: %w", l.ID, err)
		}
	}
	return nil
}

// write writes entries. It drops entries that Google rejects permanently, because retrying them
// would block all later ones.
func (l *Log) write(ctx context.Context, in *logging.WriteLogEntriesRequest) error {
	err := api.Send(ctx, l.clients.Logging.Entries.Write(in))
	refused, whole := refusedEntries(err)
	if err == nil || whole {
		return err
	}
	l.log.WarnContext(ctx, "Cloud Logging rejected journal entries", "log", l.ID, "lines", refused, "err", err)
	return nil
}

// partialErrors is the error detail that lists the rejected entries. All others were written.
const partialErrors = "google.logging.v2.WriteLogEntriesPartialErrors"

// refusedEntries returns the number of permanently rejected entries. Whole reports whether the
// whole request has failed.
func refusedEntries(err error) (n int, whole bool) {
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok || cloud.KindOf(err) != cloud.Invalid {
		return 0, err != nil
	}
	for _, d := range e.Details {
		detail, _ := d.(map[string]any)
		kind, _ := detail["@type"].(string)
		if each, ok := detail["logEntryErrors"].(map[string]any); ok && strings.HasSuffix(kind, partialErrors) {
			return len(each), false
		}
	}
	return 0, true
}

func entryOf(e journal.Event) *logging.LogEntry {
	return &logging.LogEntry{TextPayload: journal.TruncateText(e.Text, maxText), Timestamp: e.At.UTC().Format(time.RFC3339Nano), InsertId: insertID(e.ID)}
}

// insertID returns the insert ID of a line, with which Google deduplicates lines of the same time.
// Google orders lines of the same time by it, so it starts with the sequence number of the journal
// entry.
func insertID(cursor string) string {
	sum := sha256.Sum256([]byte(cursor))
	number := ""
	for part := range strings.SplitSeq(cursor, ";") {
		if text, ok := strings.CutPrefix(part, "i="); ok {
			number = text
		}
	}
	return fmt.Sprintf("%016s-%s", number, hex.EncodeToString(sum[:8]))
}
