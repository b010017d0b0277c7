// Package models has the pages of registered models with their versions, and of checkpoints with their files.
package models

import (
	"cmp"
	"embed"
	"net/url"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage           = ui.MustParse(files, "list.html")
	modelPage          = ui.MustParse(files, "model.html")
	checkpointPage     = ui.MustParse(files, "checkpoint.html")
	checkpointListPage = ui.MustParse(files, "checkpoints.html")
)

const (
	modelsPath      = ui.Root + "models"
	checkpointsPath = ui.Root + "checkpoints"
)

// Pages returns the pages.
func Pages() []ui.Page {
	return []ui.Page{
		{Pattern: "GET " + modelsPath, Nav: "Models", Serve: showList},
		{Pattern: "GET " + modelsPath + "/{model}", Serve: showModel},
		{Pattern: "POST " + modelsPath + "/{model}/archive", Serve: archiveModel(true)},
		{Pattern: "POST " + modelsPath + "/{model}/unarchive", Serve: archiveModel(false)},
		{Pattern: "GET " + checkpointsPath, Nav: "Checkpoints", Serve: showCheckpoints},
		{Pattern: "GET " + checkpointsPath + "/{uuid}", Serve: showCheckpoint},
		{Pattern: "GET " + checkpointsPath + "/{uuid}/download", Serve: downloadCheckpoint},
		{Pattern: "GET " + checkpointsPath + "/{uuid}/file", Serve: downloadFile},
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
}

// row is a model of the list.
type row struct {
	*apiv1.Model

	Path string
}

func showList(v *ui.Visit) error {
	l := list{Name: v.URL.Query().Get("name"), Archived: v.URL.Query().Has("archived")}
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
	return v.Show(listPage, "Models", l)
}

// model is the data of model.html.
type model struct {
	*apiv1.Model

	Path      string
	Versions  []version
	Paging    ui.Paging
	MayChange bool
	Metadata  string
}

// version is a version of a model.
type version struct {
	*apiv1.ModelVersion

	// Path is the path of its checkpoint.
	Path string
}

func showModel(v *ui.Visit) error {
	out, err := v.API.ModelVersions(v.Context(), v.PathValue("model"))
	if err != nil {
		return err
	}
	m := newModel(out, v.User)
	m.Versions, m.Paging = ui.Part(m.Versions, v.URL.Query())
	return v.Show(modelPage, "Model "+out.GetModel().GetName(), m)
}

func newModel(out *apiv1.GetModelVersionsResponse, by *apiv1.User) model {
	m := model{Model: out.GetModel(), Path: modelPath(out.GetModel().GetName()), Metadata: pretty(out.GetModel().GetMetadata())}
	m.MayChange = by.GetAdmin() || by.GetId() == m.GetUserId()
	for _, one := range out.GetModelVersions() {
		m.Versions = append(m.Versions, version{one, checkpointPath(one.GetCheckpoint().GetUuid())})
	}
	slices.SortStableFunc(m.Versions, func(a, b version) int { return cmp.Compare(b.GetVersion(), a.GetVersion()) })
	return m
}

func archiveModel(archived bool) func(*ui.Visit) error {
	done := "The model is no longer archived."
	if archived {
		done = "The model is archived."
	}
	return func(v *ui.Visit) error {
		name := v.PathValue("model")
		if err := v.API.ArchiveModel(v.Context(), name, archived); err != nil {
			return err
		}
		return v.Done(modelPath(name), done)
	}
}
