package models

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// checkpointList is the data of checkpoints.html.
type checkpointList struct {
	// Experiment is the number of the experiment of the checkpoints, or "".
	Experiment string
	Rows       []checkpoint
	Paging     ui.Paging
}

// checkpoint is a checkpoint with its sizes.
type checkpoint struct {
	*apiv1.Checkpoint

	Path  string
	Size  int64
	Files []file
	// Experiment and Trial are its numbers, 0 if they are unknown.
	Experiment, Trial int32
	// Step is the number of batches, or "".
	Step string
	// Metric is the value of the searcher's metric, if Measured.
	Metric   float64
	Measured bool
	Metadata string
}

// file is a file of a checkpoint.
type file struct {
	Name, Path string
	Size       int64
}

// pageRows is the number of checkpoints of a page.
const pageRows = 50

func showCheckpoints(v *ui.Visit) error {
	q := v.URL.Query()
	offset := ui.Offset(q)
	l := checkpointList{Experiment: strings.TrimSpace(q.Get("experiment"))}
	experiment, err := strconv.ParseInt(l.Experiment, 10, 32)
	if l.Experiment != "" && (err != nil || experiment <= 0) {
		return &ui.Refusal{Status: http.StatusBadRequest, Message: "The experiment must be a number."}
	}
	page, total, err := v.API.CheckpointPage(v.Context(), client.CheckpointQuery{Experiment: int32(experiment)}, offset, pageRows)
	if err != nil {
		return err
	}
	for _, c := range page {
		l.Rows = append(l.Rows, newCheckpoint(c))
	}
	l.Paging = ui.Paging{Offset: offset, Limit: pageRows, Total: total}
	return v.Show(checkpointListPage, "Checkpoints", l)
}

func newCheckpoint(c *apiv1.Checkpoint) checkpoint {
	out := checkpoint{
		Checkpoint: c, Path: checkpointPath(c.GetUuid()), Experiment: c.GetTraining().GetExperimentId().GetValue(), Trial: c.GetTraining().GetTrialId().GetValue(),
		Metadata: ui.Indented(c.GetMetadata()),
	}
	if v := c.GetMetadata().GetFields()["steps_completed"]; v != nil {
		out.Step = strconv.FormatFloat(v.GetNumberValue(), 'f', -1, 64)
	}
	if m := c.GetTraining().GetSearcherMetric(); m != nil {
		out.Metric, out.Measured = m.GetValue(), true
	}
	for name, size := range c.GetResources() {
		out.Size += size
		if !strings.HasSuffix(name, "/") {
			out.Files = append(out.Files, file{name, out.Path + "/file?" + url.Values{"path": {name}}.Encode(), size})
		}
	}
	slices.SortFunc(out.Files, func(a, b file) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// IsThere reports whether the files of a checkpoint can be downloaded.
func (c checkpoint) IsThere() bool {
	return c.GetState() != apiv1.Checkpoint_STATE_DELETED && c.GetState() != apiv1.Checkpoint_STATE_ERROR
}
