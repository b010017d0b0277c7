package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// checkpoints are the calls about checkpoints.
type checkpoints struct{ *transport }

// CheckpointQuery selects the checkpoints of an experiment, of a trial, or all.
type CheckpointQuery struct {
	Experiment, Trial int32
	// States selects these states; empty selects all.
	States []apiv1.Checkpoint_State
	// Deleting selects checkpoints whose deletion is pending.
	Deleting bool
	// Best selects at most this number of checkpoints, those with the best values of the searcher metric
	// first; 0 selects all.
	Best int
}

// Checkpoints lists checkpoints in the order of their reports, or the best first.
func (p checkpoints) Checkpoints(ctx context.Context, q CheckpointQuery) (all []*apiv1.Checkpoint, err error) {
	path, query := q.request()
	err = readPages(q.Best, query, func() (int, *apiv1.Pagination, error) {
		out, err := p.list(ctx, path, query)
		all = append(all, out.GetCheckpoints()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// CheckpointPage returns at most limit checkpoints from an offset on, the latest reports first unless the query
// sorts by metric, and the number of all.
func (p checkpoints) CheckpointPage(ctx context.Context, q CheckpointQuery, offset, limit int) (page []*apiv1.Checkpoint, total int, err error) {
	path, query := q.request()
	if q.Best == 0 {
		query.Set("sortByAttr", "SORT_BY_END_TIME")
		query.Set("orderBy", "ORDER_BY_DESC")
	}
	query.Set("offset", strconv.Itoa(offset))
	query.Set("limit", strconv.Itoa(limit))
	out, err := p.list(ctx, path, query)
	return out.GetCheckpoints(), int(out.GetPagination().GetTotal()), err
}

func (p checkpoints) list(ctx context.Context, path string, query url.Values) (*apiv1.GetCheckpointsResponse, error) {
	out := &apiv1.GetCheckpointsResponse{}
	return out, p.do(ctx, call{op: "list checkpoints", method: http.MethodGet, path: path, query: query, out: out})
}

// request returns the path and the parameters of a query.
func (q CheckpointQuery) request() (path string, query url.Values) {
	path, query = "/api/v1/checkpoints", url.Values{}
	switch {
	case q.Trial != 0:
		path = fmt.Sprintf("/api/v1/trials/%d/checkpoints", q.Trial)
	case q.Experiment != 0:
		path = fmt.Sprintf("/api/v1/experiments/%d/checkpoints", q.Experiment)
	}
	for _, s := range q.States {
		query.Add("states", s.String())
	}
	if q.Deleting {
		query.Set("deleting", "true")
	}
	if q.Best > 0 {
		query.Set("sortByAttr", "SORT_BY_SEARCHER_METRIC")
	}
	return path, query
}

// Checkpoint returns one checkpoint.
func (p checkpoints) Checkpoint(ctx context.Context, id string) (*apiv1.Checkpoint, error) {
	out := &apiv1.GetCheckpointResponse{}
	err := p.do(ctx, call{op: "describe checkpoint " + id, method: http.MethodGet, path: "/api/v1/checkpoints/" + url.PathEscape(id), out: out})
	return out.GetCheckpoint(), err
}

// DeleteCheckpoints deletes all of the checkpoints or none. Their files are deleted later.
func (p checkpoints) DeleteCheckpoints(ctx context.Context, ids ...string) error {
	return p.do(ctx, call{
		op: "delete checkpoints", method: http.MethodDelete, path: "/api/v1/checkpoints",
		in: &apiv1.DeleteCheckpointsRequest{CheckpointUuids: ids},
	})
}

// DownloadCheckpoint returns the files of a checkpoint as a gzipped tar. The caller must close it.
func (p checkpoints) DownloadCheckpoint(ctx context.Context, id string) (io.ReadCloser, error) {
	return p.sendWithRetries(ctx, call{op: "download checkpoint " + id, method: http.MethodGet, path: "/checkpoints/" + url.PathEscape(id)})
}

// CheckpointFile returns a file of a checkpoint from an offset on, which is 0 or less than its size. The
// caller must close it.
func (p checkpoints) CheckpointFile(ctx context.Context, id, name string, offset int64) (io.ReadCloser, error) {
	return p.sendWithRetries(ctx, call{
		op: "download " + name + " of checkpoint " + id, method: http.MethodGet, path: "/checkpoints/" + url.PathEscape(id) + "/file",
		query: url.Values{"path": {name}}, offset: offset,
	})
}
