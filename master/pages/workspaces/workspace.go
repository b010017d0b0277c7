package workspaces

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// workspace is the data of workspace.html.
type workspace struct {
	*apiv1.Workspace

	Path     string
	Projects []*apiv1.Project
	Paging   ui.Paging
	// MayChange reports that the visitor may change it.
	MayChange bool
	// ProjectName and ProjectText are the fields of the form, which is shown again with its Problem.
	ProjectName, ProjectText, Problem string
}

func showWorkspace(v *ui.Visit) error { return showOne(v, workspace{}) }

// findWorkspace returns the workspace of a visit.
func findWorkspace(v *ui.Visit) (*apiv1.Workspace, error) {
	id, err := idOf(v)
	if err != nil {
		return nil, err
	}
	return v.API.Workspace(v.Context(), id)
}

func showOne(v *ui.Visit, w workspace) (err error) {
	if w.Workspace, err = findWorkspace(v); err != nil {
		return err
	}
	if w.Projects, err = v.API.Projects(v.Context(), w.GetId(), true); err != nil {
		return err
	}
	slices.SortStableFunc(w.Projects, compareProjects)
	w.Projects, w.Paging = ui.Part(w.Projects, v.URL.Query())
	w.Path = address(listPath, w.GetId())
	w.MayChange = !w.GetImmutable() && w.GetState() != apiv1.WorkspaceState_WORKSPACE_STATE_DELETING && mayChange(v.User, w.GetUserId())
	if w.Problem != "" {
		return v.ShowInvalid(workspacePage, "Workspace "+w.GetName(), w)
	}
	return v.Show(workspacePage, "Workspace "+w.GetName(), w)
}

// compareProjects sorts projects by name, archived ones last.
func compareProjects(a, b *apiv1.Project) int {
	if a.GetArchived() != b.GetArchived() {
		return map[bool]int{true: 1, false: -1}[a.GetArchived()]
	}
	return cmp.Compare(a.GetName(), b.GetName())
}

func createProject(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	w := workspace{ProjectName: v.Field("name"), ProjectText: v.Field("description")}
	made, err := v.API.CreateProject(v.Context(), &apiv1.PostProjectRequest{Name: w.ProjectName, Description: w.ProjectText, WorkspaceId: id})
	if ui.IsInvalid(err) {
		w.Problem = ui.Sentence(err)
		return showOne(v, w)
	}
	if err != nil {
		return err
	}
	return v.Done(address(projectPath, made.GetId()), "The project was created.")
}

// workspaceEdit is the data of workspace_edit.html.
type workspaceEdit struct {
	Path, Name string
	// Compute and Aux are the pools of tasks with and without slots, or "" for those of the cluster.
	Compute, Aux string
	Pools        []string
	Problem      string
}

func showEditWorkspace(v *ui.Visit) error {
	w, err := findWorkspace(v)
	if err != nil {
		return err
	}
	return workspaceEdit{Name: w.GetName(), Compute: w.GetDefaultComputePool(), Aux: w.GetDefaultAuxPool()}.show(v, w)
}

func (e workspaceEdit) show(v *ui.Visit, w *apiv1.Workspace) error {
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	for _, p := range pools {
		e.Pools = append(e.Pools, p.GetName())
	}
	e.Path = address(listPath, w.GetId())
	if e.Problem != "" {
		return v.ShowInvalid(workspaceEditPage, "Edit workspace "+w.GetName(), e)
	}
	return v.Show(workspaceEditPage, "Edit workspace "+w.GetName(), e)
}

func changeWorkspace(v *ui.Visit) error {
	w, err := findWorkspace(v)
	if err != nil {
		return err
	}
	e := workspaceEdit{Name: v.Field("name"), Compute: v.Field("compute"), Aux: v.Field("aux")}
	_, err = v.API.PatchWorkspace(v.Context(), w.GetId(), &apiv1.PatchWorkspace{Name: &e.Name, DefaultComputePool: &e.Compute, DefaultAuxPool: &e.Aux})
	if ui.IsInvalid(err) {
		e.Problem = ui.Sentence(err)
		return e.show(v, w)
	}
	if err != nil {
		return err
	}
	return v.Done(address(listPath, w.GetId()), "The workspace was changed.")
}

func archiveWorkspace(archived bool) func(*ui.Visit) error {
	return func(v *ui.Visit) error {
		id, err := idOf(v)
		if err == nil {
			err = v.API.ArchiveWorkspace(v.Context(), id, archived)
		}
		if err != nil {
			return err
		}
		return v.Done(address(listPath, id), "The workspace is "+archiveWord(archived)+".")
	}
}

func askDeleteWorkspace(v *ui.Visit) error {
	w, err := findWorkspace(v)
	if err != nil {
		return err
	}
	return v.Confirm(workspaceDeletion(w))
}

// workspaceDeletion returns the question before a workspace is deleted. Pages delete only those without experiments.
func workspaceDeletion(w *apiv1.Workspace) ui.Confirmation {
	q := ui.Confirmation{Question: "Delete workspace " + w.GetName() + "?", Back: address(listPath, w.GetId())}
	if n := w.GetNumExperiments(); n > 0 {
		q.Effects = []string{fmt.Sprintf("It has %s. Move or delete them first. On the command line, det-deploy workspace delete deletes a workspace with everything in it.", ui.Count(n, "experiment"))}
		return q
	}
	q.Button = "Delete the workspace"
	q.Effects = []string{
		"It has no experiments. It is deleted with " + ui.Count(w.GetNumProjects(), "project") + " and its templates, and nobody can bring them back.",
		"Commands, notebooks, shells and TensorBoards that run in it are killed.",
	}
	return q
}

func deleteWorkspace(v *ui.Visit) error {
	w, err := findWorkspace(v)
	if err != nil {
		return err
	}
	q := workspaceDeletion(w)
	if q.Button == "" {
		return &ui.Refusal{Status: http.StatusConflict, Message: q.Effects[0]}
	}
	ended, err := v.API.DeleteWorkspace(v.Context(), w.GetId())
	if err != nil {
		return v.Refused(q, err)
	}
	return v.Done(listPath, done("Workspace "+w.GetName(), ended))
}
