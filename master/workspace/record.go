package workspace

import (
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// deletion is how far the deletion of a workspace or a project is. The words are stored
// and those of the API, without their prefix.
type deletion string

const (
	notDeleted   deletion = ""
	deleting     deletion = "DELETING"
	deleteFailed deletion = "DELETE_FAILED"
)

// workspaceRecord is what the store keeps of a workspace.
type workspaceRecord struct {
	ID       int32     `json:"id"`
	Name     string    `json:"name"`
	UserID   int32     `json:"user_id"`
	Archived bool      `json:"archived,omitempty"`
	Deletion deletion  `json:"deletion,omitempty"`
	Error    string    `json:"error,omitempty"`   // why the deletion failed
	Deleter  int32     `json:"deleter,omitempty"` // who asked for the deletion
	Compute  string    `json:"default_compute_pool,omitempty"`
	Aux      string    `json:"default_aux_pool,omitempty"`
	Storage  string    `json:"checkpoint_storage,omitempty"` // YAML, secrets included
	Unix     Account   `json:"agent_user_group,omitzero"`
	Members  []int32   `json:"members,omitempty"` // see CheckUser
	Created  time.Time `json:"created"`
	// Pinned is when which user pinned it, by the user's id.
	Pinned map[int32]time.Time `json:"pinned,omitempty"`
}

// projectRecord is what the store keeps of a project, under its workspace.
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

// counter is the last id that was given out. Ids of what was deleted are not given out
// again.
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

// loadStorage reads the storage of a record; nil is none.
func (w workspaceRecord) loadStorage() (*expconf.Storage, error) {
	if w.Storage == "" {
		return nil, nil //nolint:nilnil // no storage is a value of its own
	}
	s := &expconf.Storage{}
	if err := document.Decode([]byte(w.Storage), "stored checkpoint storage", s); err != nil {
		return nil, fmt.Errorf("read the checkpoint storage of workspace %d: %w", w.ID, err)
	}
	return s, nil
}
