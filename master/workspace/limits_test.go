package workspace

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestWorkspaceAndProjectLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range int32(mostOfUser) {
		if err := w.table.keepWorkspace(workspaceRecord{ID: 2 + i, UserID: ann().GetId()}); err != nil {
			t.Fatal(err)
		}
		w.table.keepProject(projectRecord{ID: 2 + i, WorkspaceID: 2, UserID: ann().GetId()})
	}
	refused := func(err error, text string) {
		t.Helper()
		if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error with %q", err, text)
		}
	}
	_, err := w.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{Name: "one more"})
	refused(err, "user ann has 10000 workspaces, and a user has at most 10000")
	_, err = w.CreateProject(t.Context(), ann(), &apiv1.PostProjectRequest{Name: "one more", WorkspaceId: 2})
	refused(err, "user ann has 10000 projects")
	w.project(bob(), w.workspace(bob(), "another user's").GetId(), "first")
}
