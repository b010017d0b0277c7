// Package bundle stores contexts: the directories that users send with tasks and experiments. A file is
// sent in pieces, and a piece is sent and stored once for each user.
//
//	Announce: which files? ──▶ the missing pieces ──▶ AddPieces ──▶ Claim by a task or an experiment
//	                                                                  │
//	Collect ◀── an hour after the last call, without claims ◀── Release
//
// Nothing is shared between users: one could otherwise learn from the missing pieces which files others
// have sent.
package bundle

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// PieceBytes is the size of a piece. A piece is held in memory and written in one transaction.
	PieceBytes = 4 << 20
	// MostFiles is the maximum number of files and directories of a context.
	MostFiles = 100_000
	// Keep is how long a context without claims is kept after its last call.
	Keep = time.Hour
)

// Config configures New. Quota may be nil.
type Config struct {
	Store *store.Store
	Quota *quota.Quota
	// MaxBytes is the maximum size of the files of a context; 0 means no limit.
	MaxBytes int64
	// Now is the clock; nil selects the system's.
	Now func() time.Time
}

// Contexts is safe for concurrent use.
type Contexts struct{ cfg Config }

// New returns the contexts in a store.
func New(cfg Config) *Contexts {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Contexts{cfg}
}

// Limits returns what Announce accepts.
func (c *Contexts) Limits() *apiv1.GetContextLimitsResponse {
	return &apiv1.GetContextLimitsResponse{Bytes: c.cfg.MaxBytes, Files: MostFiles, PieceBytes: PieceBytes}
}

// record is a stored context. Its document has the time of the last call.
type record struct {
	Owner int32 `json:"owner"`
	// ListBytes is the size of the stored list of files.
	ListBytes int64 `json:"list_bytes"`
	// Leaving is set while the context is deleted in several transactions.
	Leaving bool `json:"leaving,omitempty"`
}

type collections struct {
	contexts store.Collection[record]
	// lists are the lists of files, with the IDs of their contexts.
	lists store.Collection[[]byte]
	// claims have the name of the claiming object as ID and the context as parent.
	claims store.Collection[struct{}]
}

func docs() collections {
	return collections{
		contexts: store.Collection[record]{Kind: "context"},
		lists:    store.Collection[[]byte]{Kind: "context_list"},
		claims:   store.Collection[struct{}]{Kind: "context_claim"},
	}
}

// key returns the ID of a context's document.
func key(s store.BlobSet) string { return fmt.Sprintf("%d/%s", s.Owner, nameOf(s.Context)) }

func nameOf(id store.Hash) string { return hex.EncodeToString(id[:]) }

// readKey is the inverse of key.
func readKey(k string) (s store.BlobSet, err error) {
	var id string
	if _, err := fmt.Sscanf(k, "%d/%s", &s.Owner, &id); err != nil {
		return s, fmt.Errorf("read the key %q of a context: %w", k, err)
	}
	s.Context, err = parseID(id)
	return s, err
}

// parseID parses the ID of a context.
func parseID(id string) (h store.Hash, err error) {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != len(h) {
		return h, status.New(status.InvalidArgument, "context_id: must be the ID of a context, of %d hexadecimal digits", 2*len(h))
	}
	return store.Hash(b), nil
}

// setOf returns a user's context.
func setOf(by *apiv1.User, id string) (store.BlobSet, error) {
	h, err := parseID(id)
	return store.BlobSet{Owner: by.GetId(), Context: h}, err
}

func packList(files []*apiv1.ContextFile) (id store.Hash, packed []byte, err error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&apiv1.PostContextRequest{Files: files})
	if err != nil {
		return id, nil, err
	}
	packed, err = pack(raw)
	return hashOf(raw), packed, err
}

func (c *Contexts) readList(ctx context.Context, k string) ([]*apiv1.ContextFile, error) {
	d, found, err := docs().lists.Get(ctx, c.cfg.Store, k)
	if err != nil || !found {
		return nil, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(d.Value))
	if err != nil {
		return nil, fmt.Errorf("read the list of context %s: %w", k, err)
	}
	raw, err := io.ReadAll(zip)
	list := &apiv1.PostContextRequest{}
	if err == nil {
		err = proto.Unmarshal(raw, list)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of context %s: %w", k, err)
	}
	return list.GetFiles(), nil
}

// pack compresses b.
func pack(b []byte) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed) // a local network is faster than better levels
	if err == nil {
		_, err = zip.Write(b)
	}
	if err == nil {
		err = zip.Close()
	}
	return out.Bytes(), err
}
