package workspaces

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// project is the data of project.html.
type project struct {
	*apiv1.Project

	Path string
	// MayWrite reports that the visitor may write its notes, and MayChange that the visitor may change the
	// rest, too.
	MayWrite, MayChange bool
}

// findProject returns the project of a visit.
func findProject(v *ui.Visit) (*apiv1.Project, error) {
	id, err := idOf(v)
	if err != nil {
		return nil, err
	}
	return v.API.Project(v.Context(), id)
}

func showProject(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	w, err := v.API.Workspace(v.Context(), m.GetWorkspaceId())
	if kind := client.KindOf(err); err != nil && kind != client.NotFound && kind != client.Forbidden {
		return err
	}
	p := project{Project: m, Path: address(projectPath, m.GetId())}
	p.MayWrite = m.GetState() != apiv1.WorkspaceState_WORKSPACE_STATE_DELETING && mayChange(v.User, m.GetUserId(), w.GetUserId())
	p.MayChange = p.MayWrite && !m.GetImmutable()
	return v.Show(projectPage, "Project "+m.GetName(), p)
}

// projectEdit is the data of project_edit.html.
type projectEdit struct {
	Path, Name, Text string
	// Notes are those of the project and an empty one.
	Notes []*apiv1.Note
	// Immutable reports that only its notes can change.
	Immutable bool
	// Workspaces are those that it can move to.
	Workspaces []*apiv1.Workspace
	Problem    string
}

func showEditProject(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	return newProjectEdit(m).show(v, m)
}

func newProjectEdit(m *apiv1.Project) projectEdit {
	return projectEdit{Name: m.GetName(), Text: m.GetDescription(), Notes: m.GetNotes()}
}

func (e projectEdit) show(v *ui.Visit, m *apiv1.Project) error {
	all, err := v.API.Workspaces(v.Context(), false)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.GetId() != m.GetWorkspaceId() && !w.GetImmutable() {
			e.Workspaces = append(e.Workspaces, w)
		}
	}
	e.Path, e.Immutable, e.Notes = address(projectPath, m.GetId()), m.GetImmutable(), append(e.Notes, &apiv1.Note{})
	if e.Problem != "" {
		return v.ShowInvalid(projectEditPage, "Edit project "+m.GetName(), e)
	}
	return v.Show(projectEditPage, "Edit project "+m.GetName(), e)
}

func changeProject(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	e := newProjectEdit(m)
	e.Name, e.Text = v.Field("name"), v.Lines("description")
	_, err = v.API.PatchProject(v.Context(), m.GetId(), &apiv1.PatchProject{Name: &e.Name, Description: &e.Text})
	return e.finish(v, m, err, "The project was changed.")
}

// finish shows the form again if the API has refused it, and otherwise the project.
func (e projectEdit) finish(v *ui.Visit, m *apiv1.Project, err error, message string) error {
	if ui.IsInvalid(err) {
		e.Problem = ui.Sentence(err)
		return e.show(v, m)
	}
	if err != nil {
		return err
	}
	return v.Done(address(projectPath, m.GetId()), message)
}

func changeNotes(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	e := newProjectEdit(m)
	e.Notes = readNotes(v.PostForm["title"], v.PostForm["contents"])
	err = v.API.PutProjectNotes(v.Context(), m.GetId(), e.Notes)
	return e.finish(v, m, err, "The notes were changed.")
}

// readNotes returns the notes of a form without empty ones.
func readNotes(titles, contents []string) []*apiv1.Note {
	var out []*apiv1.Note
	for i, title := range titles {
		n := &apiv1.Note{Name: strings.TrimSpace(title)}
		if i < len(contents) {
			n.Contents = strings.ReplaceAll(contents[i], "\r\n", "\n")
		}
		if n.Name != "" || strings.TrimSpace(n.Contents) != "" {
			out = append(out, n)
		}
	}
	return out
}

func moveProject(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	to, err := v.Number("workspace", "Choose the workspace to which the project moves.")
	if err != nil {
		return err
	}
	err = v.API.MoveProject(v.Context(), m.GetId(), to)
	return newProjectEdit(m).finish(v, m, err, "The project was moved.")
}

func archiveProject(archived bool) func(*ui.Visit) error {
	return func(v *ui.Visit) error {
		id, err := idOf(v)
		if err == nil {
			err = v.API.ArchiveProject(v.Context(), id, archived)
		}
		if err != nil {
			return err
		}
		return v.Done(address(projectPath, id), "The project is "+archiveWord(archived)+".")
	}
}

func askDeleteProject(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	return v.Confirm(projectDeletion(m))
}

// projectDeletion returns the question before a project is deleted. Pages delete only those without experiments.
func projectDeletion(m *apiv1.Project) ui.Confirmation {
	q := ui.Confirmation{Question: "Delete project " + m.GetName() + "?", Back: address(projectPath, m.GetId())}
	if n := m.GetNumExperiments(); n > 0 {
		q.Effects = []string{fmt.Sprintf("It has %s. Move or delete them first. On the command line, det-deploy project delete deletes a project with its experiments.", ui.Count(n, "experiment"))}
		return q
	}
	q.Button, q.Effects = "Delete the project", []string{"It has no experiments. It is deleted with its notes, and nobody can bring it back."}
	return q
}

func deleteProject(v *ui.Visit) error {
	m, err := findProject(v)
	if err != nil {
		return err
	}
	q := projectDeletion(m)
	if q.Button == "" {
		return &ui.Refusal{Status: http.StatusConflict, Message: q.Effects[0]}
	}
	ended, err := v.API.DeleteProject(v.Context(), m.GetId())
	if err != nil {
		return v.Refused(q, err)
	}
	return v.Done(address(listPath, m.GetWorkspaceId()), done("Project "+m.GetName(), ended))
}
