package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
)

// modelRecord is the stored record of a model. Its ID is the model's, its parent the workspace.
type modelRecord struct {
	ID          int32           `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Notes       string          `json:"notes,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Labels      []string        `json:"labels,omitempty"`
	WorkspaceID int32           `json:"workspace_id"`
	UserID      int32           `json:"user_id"`
	Archived    bool            `json:"archived,omitempty"`
	Created     time.Time       `json:"created"`
	Updated     time.Time       `json:"updated"`
	// Versions is the number of versions, LastVersion the number of the latest one. Numbers are not
	// reused.
	Versions    int32 `json:"versions,omitempty"`
	LastVersion int32 `json:"last_version,omitempty"`
}

// versionRecord is the stored record of a version. Its parent is the model.
type versionRecord struct {
	ID         int32           `json:"id"`
	ModelID    int32           `json:"model_id"`
	Version    int32           `json:"version"`
	Checkpoint string          `json:"checkpoint"`
	Name       string          `json:"name,omitempty"`
	Comment    string          `json:"comment,omitempty"`
	Notes      string          `json:"notes,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Labels     []string        `json:"labels,omitempty"`
	UserID     int32           `json:"user_id"`
	Created    time.Time       `json:"created"`
	Updated    time.Time       `json:"updated"`
}

// counter is the last number that was assigned.
type counter struct {
	Last int32 `json:"last"`
}

var (
	modelDocs   = store.Collection[modelRecord]{Kind: "model"}
	versionDocs = store.Collection[versionRecord]{Kind: "model_version"}
	counters    = store.Collection[counter]{Kind: "model_counter"}
)

// The names of the counters.
const (
	modelCounter   = "model"
	versionCounter = "version"
)

func modelID(id int32) string { return strconv.Itoa(int(id)) }

func versionID(model, version int32) string { return fmt.Sprintf("%d/%d", model, version) }

func putModel(tx *store.Tx, m modelRecord) error {
	return modelDocs.Put(tx, modelID(m.ID), modelID(m.WorkspaceID), m.Created, m)
}

func putVersion(tx *store.Tx, v versionRecord) error {
	return versionDocs.Put(tx, versionID(v.ModelID, v.Version), modelID(v.ModelID), v.Created, v)
}

// metadataLimit is in bytes.
const metadataLimit = 256 << 10

// encodeMetadata encodes metadata as JSON. It returns nil if there are no fields, and
// InvalidArgument if the result is too large.
func encodeMetadata(m *structpb.Struct) (json.RawMessage, error) {
	if len(m.GetFields()) == 0 {
		return nil, nil
	}
	b, err := m.MarshalJSON()
	if err != nil {
		return nil, status.New(status.InvalidArgument, "metadata: cannot be encoded as JSON: %v", err)
	}
	if len(b) > metadataLimit {
		return nil, status.New(status.InvalidArgument, "metadata: has %d bytes; at most %d are allowed", len(b), metadataLimit)
	}
	return b, nil
}

// decodeMetadata decodes the result of encodeMetadata.
func decodeMetadata(b json.RawMessage) *structpb.Struct {
	out := &structpb.Struct{}
	if len(b) > 0 && out.UnmarshalJSON(b) != nil { // cannot fail: encodeMetadata wrote it
		return &structpb.Struct{}
	}
	return out
}
