// Package workspaces has the pages of workspaces and projects: the lists, one of each, and the forms that create
// and archive them.
package workspaces

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage      = ui.MustParse(files, "list.html")
	workspacePage = ui.MustParse(files, "workspace.html")
	projectPage   = ui.MustParse(files, "project.html")
)

const (
	listPath    = ui.Root + "workspaces"
	projectPath = ui.Root + "projects"
)

// Pages returns the pages. Clients print addresses with further parts behind the numbers.
func Pages() []ui.Page {
	return []ui.Page{
		{Pattern: "GET " + listPath, Nav: "Workspaces", Serve: showList},
		{Pattern: "POST " + listPath, Serve: createWorkspace},
		{Pattern: "GET " + listPath + "/{id}", Serve: showWorkspace},
		{Pattern: "GET " + listPath + "/{id}/{rest...}", Serve: showWorkspace},
		{Pattern: "POST " + listPath + "/{id}/archive", Serve: archiveWorkspace(true)},
		{Pattern: "POST " + listPath + "/{id}/unarchive", Serve: archiveWorkspace(false)},
		{Pattern: "POST " + listPath + "/{id}/projects", Serve: createProject},
		{Pattern: "GET " + projectPath + "/{id}", Serve: showProject},
		{Pattern: "GET " + projectPath + "/{id}/{rest...}", Serve: showProject},
		{Pattern: "POST " + projectPath + "/{id}/archive", Serve: archiveProject(true)},
		{Pattern: "POST " + projectPath + "/{id}/unarchive", Serve: archiveProject(false)},
	}
}

func address(path string, id int32) string { return fmt.Sprintf("%s/%d", path, id) }

// idOf returns the number in the path of a visit.
func idOf(v *ui.Visit) (int32, error) {
	n, err := strconv.ParseInt(v.PathValue("id"), 10, 32)
	if err != nil || n <= 0 {
		return 0, &ui.Refusal{Status: http.StatusNotFound, Message: "There is no page at " + ui.Plain(v.URL.Path) + "."}
	}
	return int32(n), nil
}

// list is the data of list.html.
type list struct {
	Workspaces []*apiv1.Workspace
	Paging     ui.Paging
	// Archived reports that archived workspaces are shown, too.
	Archived bool
	// Name is the field of the form, which is shown again with its Problem.
	Name, Problem string
}

func showList(v *ui.Visit) error {
	return showWorkspaces(v, list{Archived: v.URL.Query().Has("archived")})
}

func showWorkspaces(v *ui.Visit, l list) (err error) {
	if l.Workspaces, err = v.API.Workspaces(v.Context(), l.Archived); err != nil {
		return err
	}
	slices.SortFunc(l.Workspaces, func(a, b *apiv1.Workspace) int { return cmp.Compare(a.GetName(), b.GetName()) })
	l.Workspaces, l.Paging = ui.Part(l.Workspaces, v.URL.Query())
	if l.Problem != "" {
		return v.ShowInvalid(listPage, "Workspaces", l)
	}
	return v.Show(listPage, "Workspaces", l)
}

func createWorkspace(v *ui.Visit) error {
	name := strings.TrimSpace(v.PostForm.Get("name"))
	made, err := v.API.CreateWorkspace(v.Context(), &apiv1.PostWorkspaceRequest{Name: name})
	if ui.IsInvalid(err) {
		return showWorkspaces(v, list{Name: name, Problem: ui.Sentence(err)})
	}
	if err != nil {
		return err
	}
	return v.Done(address(listPath, made.GetId()), "The workspace was created.")
}

// workspace is the data of workspace.html.
type workspace struct {
	*apiv1.Workspace

	Path     string
	Projects []*apiv1.Project
	Paging   ui.Paging
	// MayChange reports that the visitor may archive it.
	MayChange bool
	// ProjectName and ProjectText are the fields of the form, which is shown again with its Problem.
	ProjectName, ProjectText, Problem string
}

func showWorkspace(v *ui.Visit) error { return showOne(v, workspace{}) }

func showOne(v *ui.Visit, w workspace) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	if w.Workspace, err = v.API.Workspace(v.Context(), id); err != nil {
		return err
	}
	if w.Projects, err = v.API.Projects(v.Context(), id, true); err != nil {
		return err
	}
	slices.SortStableFunc(w.Projects, compareProjects)
	w.Projects, w.Paging = ui.Part(w.Projects, v.URL.Query())
	w.Path, w.MayChange = address(listPath, id), mayChange(v.User, w.GetUserId(), w.GetImmutable())
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

// mayChange reports whether a user may archive an object of an owner.
func mayChange(by *apiv1.User, owner int32, immutable bool) bool {
	return !immutable && (by.GetAdmin() || by.GetId() == owner)
}

func createProject(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	w := workspace{ProjectName: strings.TrimSpace(v.PostForm.Get("name")), ProjectText: strings.TrimSpace(v.PostForm.Get("description"))}
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

func archiveWord(archived bool) string {
	if archived {
		return "archived"
	}
	return "no longer archived"
}

// project is the data of project.html.
type project struct {
	*apiv1.Project

	Path      string
	MayChange bool
}

func showProject(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	p, err := v.API.Project(v.Context(), id)
	if err != nil {
		return err
	}
	return v.Show(projectPage, "Project "+p.GetName(), project{p, address(projectPath, id), mayChange(v.User, p.GetUserId(), p.GetImmutable())})
}
