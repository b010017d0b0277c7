// Package workspaces has the pages of workspaces and projects: the lists, one of each, and their forms.
package workspaces

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage          = ui.MustParse(files, "list.html")
	workspacePage     = ui.MustParse(files, "workspace.html")
	workspaceEditPage = ui.MustParse(files, "workspace_edit.html")
	projectPage       = ui.MustParse(files, "project.html")
	projectEditPage   = ui.MustParse(files, "project_edit.html")
)

const (
	listPath    = ui.Root + "workspaces"
	projectPath = ui.Root + "projects"
)

// Pages returns the pages. Clients print addresses with further parts behind the numbers.
func Pages() []ui.Page {
	const workspace, project = listPath + "/{id}", projectPath + "/{id}"
	return []ui.Page{
		{Pattern: "GET " + listPath, Nav: "Workspaces", Serve: showList},
		{Pattern: "POST " + listPath, Serve: createWorkspace},
		{Pattern: "GET " + workspace, Serve: showWorkspace},
		{Pattern: "GET " + workspace + "/{rest...}", Serve: showWorkspace},
		{Pattern: "POST " + workspace + "/projects", Serve: createProject},
		{Pattern: "GET " + workspace + "/edit", Serve: showEditWorkspace},
		{Pattern: "POST " + workspace + "/edit", Serve: changeWorkspace},
		{Pattern: "POST " + workspace + "/archive", Serve: archiveWorkspace(true)},
		{Pattern: "POST " + workspace + "/unarchive", Serve: archiveWorkspace(false)},
		{Pattern: "GET " + workspace + "/delete", Serve: askDeleteWorkspace},
		{Pattern: "POST " + workspace + "/delete", Serve: deleteWorkspace},
		{Pattern: "GET " + project, Serve: showProject},
		{Pattern: "GET " + project + "/{rest...}", Serve: showProject},
		{Pattern: "GET " + project + "/edit", Serve: showEditProject},
		{Pattern: "POST " + project + "/edit", Serve: changeProject},
		{Pattern: "POST " + project + "/notes", Serve: changeNotes},
		{Pattern: "POST " + project + "/move", Serve: moveProject},
		{Pattern: "POST " + project + "/archive", Serve: archiveProject(true)},
		{Pattern: "POST " + project + "/unarchive", Serve: archiveProject(false)},
		{Pattern: "GET " + project + "/delete", Serve: askDeleteProject},
		{Pattern: "POST " + project + "/delete", Serve: deleteProject},
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
	name := v.Field("name")
	made, err := v.API.CreateWorkspace(v.Context(), &apiv1.PostWorkspaceRequest{Name: name})
	if ui.IsInvalid(err) {
		return showWorkspaces(v, list{Name: name, Problem: ui.Sentence(err)})
	}
	if err != nil {
		return err
	}
	return v.Done(address(listPath, made.GetId()), "The workspace was created.")
}

// mayChange reports whether a user may change an object of one of the owners.
func mayChange(by *apiv1.User, owners ...int32) bool {
	return by.GetAdmin() || slices.Contains(owners, by.GetId())
}

// done returns the message after a deletion, or after its start.
func done(what string, ended bool) string {
	if ended {
		return what + " was deleted."
	}
	return what + " is being deleted. It is listed until its experiments are deleted."
}

func archiveWord(archived bool) string {
	if archived {
		return "archived"
	}
	return "no longer archived"
}
