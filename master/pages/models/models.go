// Package models has the pages of registered models with their versions, and of checkpoints with their files.
package models

import (
	"embed"
	"net/url"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage           = ui.MustParse(files, "list.html")
	modelPage          = ui.MustParse(files, "model.html")
	versionPage        = ui.MustParse(files, "version.html")
	editPage           = ui.MustParse(files, "edit.html")
	registerPage       = ui.MustParse(files, "register.html")
	checkpointPage     = ui.MustParse(files, "checkpoint.html")
	checkpointListPage = ui.MustParse(files, "checkpoints.html")
)

const (
	modelsPath      = ui.Root + "models"
	checkpointsPath = ui.Root + "checkpoints"
)

// Pages returns the pages.
func Pages() []ui.Page {
	const model, version, checkpoint = modelsPath + "/{model}", modelsPath + "/{model}/versions/{version}", checkpointsPath + "/{uuid}"
	return []ui.Page{
		{Pattern: "GET " + modelsPath, Nav: "Models", Serve: showList},
		{Pattern: "POST " + modelsPath, Serve: createModel},
		{Pattern: "GET " + model, Serve: showModel},
		{Pattern: "GET " + model + "/edit", Serve: showEdit},
		{Pattern: "POST " + model + "/edit", Serve: changeModel},
		{Pattern: "POST " + model + "/move", Serve: moveModel},
		{Pattern: "POST " + model + "/archive", Serve: archiveModel(true)},
		{Pattern: "POST " + model + "/unarchive", Serve: archiveModel(false)},
		{Pattern: "GET " + model + "/delete", Serve: askDeleteModel},
		{Pattern: "POST " + model + "/delete", Serve: deleteModel},
		{Pattern: "GET " + version, Serve: showVersion},
		{Pattern: "GET " + version + "/edit", Serve: showEditVersion},
		{Pattern: "POST " + version + "/edit", Serve: changeVersion},
		{Pattern: "GET " + version + "/delete", Serve: askDeleteVersion},
		{Pattern: "POST " + version + "/delete", Serve: deleteVersion},
		{Pattern: "GET " + checkpointsPath, Nav: "Checkpoints", Serve: showCheckpoints},
		{Pattern: "GET " + checkpoint, Serve: showCheckpoint},
		{Pattern: "GET " + checkpoint + "/download", Serve: downloadCheckpoint},
		{Pattern: "GET " + checkpoint + "/file", Serve: downloadFile},
		{Pattern: "GET " + checkpoint + "/register", Serve: showRegister},
		{Pattern: "POST " + checkpoint + "/register", Serve: registerVersion},
		{Pattern: "GET " + checkpoint + "/delete", Serve: askDeleteCheckpoint},
		{Pattern: "POST " + checkpoint + "/delete", Serve: deleteCheckpoint},
	}
}

func modelPath(name string) string      { return modelsPath + "/" + url.PathEscape(name) }
func checkpointPath(uuid string) string { return checkpointsPath + "/" + url.PathEscape(uuid) }

// list is the data of list.html.
type list struct {
	Name     string
	Archived bool
	Rows     []row
	Paging   ui.Paging
	// New is the name in the form that creates a model, which is shown again with its Problem.
	New, Text string
	Problem   string
}

// row is a model of the list.
type row struct {
	*apiv1.Model

	Path string
}

func showList(v *ui.Visit) error {
	q := v.URL.Query()
	return showModels(v, list{Name: q.Get("name"), Archived: q.Has("archived")})
}

func showModels(v *ui.Visit, l list) error {
	all, err := v.API.Models(v.Context(), client.ModelQuery{Archived: l.Archived})
	if err != nil {
		return err
	}
	for _, m := range all {
		if hasText(m, l.Name) {
			l.Rows = append(l.Rows, row{m, modelPath(m.GetName())})
		}
	}
	slices.SortStableFunc(l.Rows, func(a, b row) int { return b.GetLastUpdatedTime().AsTime().Compare(a.GetLastUpdatedTime().AsTime()) })
	l.Rows, l.Paging = ui.Part(l.Rows, v.URL.Query())
	if l.Problem != "" {
		return v.ShowInvalid(listPage, "Models", l)
	}
	return v.Show(listPage, "Models", l)
}

// hasText reports whether the name of a model contains a text.
func hasText(m *apiv1.Model, text string) bool {
	return strings.Contains(strings.ToLower(m.GetName()), strings.ToLower(strings.TrimSpace(text)))
}

func createModel(v *ui.Visit) error {
	l := list{New: v.Field("name"), Text: v.Field("description")}
	made, err := v.API.CreateModel(v.Context(), &apiv1.PostModelRequest{Name: l.New, Description: l.Text})
	if ui.IsInvalid(err) {
		l.Problem = ui.Sentence(err)
		return showModels(v, l)
	}
	if err != nil {
		return err
	}
	return v.Done(modelPath(made.GetName()), "The model was created.")
}
