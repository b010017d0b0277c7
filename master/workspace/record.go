package workspace

import (
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// deletion is the state of the deletion of a workspace or a project. The stored values are those of
// the API without their prefix.
type deletion string

const (
	notDeleted   deletion = ""
	deleting     deletion = "DELETING"
	deleteFailed deletion = "DELETE_FAILED"
)

// workspaceRecord is the stored record of a workspace.
type workspaceRecord struct {
	ID       int32     `json:"id"`
	Name     string    `json:"name"`
	UserID   int32     `json:"user_id"`
	Archived bool      `json:"archived,omitempty"`
	Deletion deletion  `json:"deletion,omitempty"`
	Error    string    `json:"error,omitempty"`   // the reason of a failed deletion
	Deleter  int32     `json:"deleter,omitempty"` // the user who requested the deletion
	Compute  string    `json:"default_compute_pool,omitempty"`
	Aux      string    `json:"default_aux_pool,omitempty"`
	Storage  string    `json:"checkpoint_storage,omitempty"` // YAML including secrets
	Unix     Account   `json:"agent_user_group,omitzero"`
	Members  []int32   `json:"members,omitempty"` // see CheckUser
	Created  time.Time `json:"created"`
	// Pinned maps the IDs of users who pinned the workspace to the time.
	Pinned map[int32]time.Time `json:"pinned,omitempty"`
}

// projectRecord is the stored record of a project. Its parent is the workspace.
type projectRecord struct {
	ID          int32     `json:"id"`
	WorkspaceID int32     `json:"workspace_id"`
	Name        string    `json:"name"`
	Key         string    `json:"key"`
	Description string    `json:"description,omitempty"`
	UserID      int32     `json:"user_id"`
	Archived    bool      `json:"archived,omitempty"`
	Deletion    deletion  `json:"deletion,omitempty"`
	Error       string    `json:"error,omitempty"`
	Deleter     int32     `json:"deleter,omitempty"`
	Notes       []note    `json:"notes,omitempty"`
	Created     time.Time `json:"created"`
}

type note struct {
	Name     string `json:"name"`
	Contents string `json:"contents"`
}

// counter is the last ID that was assigned. IDs of deleted objects are not reused.
type counter struct {
	Last int32 `json:"last"`
}

var (
	workspaces = store.Collection[workspaceRecord]{Kind: "workspace"}
	projects   = store.Collection[projectRecord]{Kind: "project"}
	counters   = store.Collection[counter]{Kind: "workspace_counter"}
)

// The names of the counters.
const (
	workspaceCounter = "workspace"
	projectCounter   = "project"
)

func recordID(id int32) string { return strconv.Itoa(int(id)) }

func putWorkspace(tx *store.Tx, w workspaceRecord) error {
	return workspaces.Put(tx, recordID(w.ID), "", w.Created, w)
}

func putProject(tx *store.Tx, p projectRecord) error {
	return projects.Put(tx, recordID(p.ID), recordID(p.WorkspaceID), p.Created, p)
}

// loadStorage decodes the storage of a record. It returns nil if the record has no storage.
func (w workspaceRecord) loadStorage() (*expconf.Storage, error) {
	if w.Storage == "" {
		return nil, nil //nolint:nilnil // a record without a storage is valid
	}
	s := &expconf.Storage{}
	if err := document.Decode([]byte(w.Storage), "stored checkpoint storage", s); err != nil {
		return nil, fmt.Errorf("read the checkpoint storage of workspace %d: %w", w.ID, err)
	}
	return s, nil
}
