package view

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Checkpoint returns a checkpoint with its content, which the caller must authorize with
// CheckReader. It returns NotFound if the checkpoint does not exist.
func (v *Checkpoints) Checkpoint(ctx context.Context, uuid string) (*apiv1.Checkpoint, error) {
	rec, found, err := checkpoint.Get(ctx, v.cfg.Store, uuid)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, checkpoint.NotFound(uuid)
	}
	return v.newPage().show(ctx, rec)
}

// IDsBeginning returns at most limit UUIDs of checkpoints that begin with prefix, in order.
func (v *Checkpoints) IDsBeginning(ctx context.Context, prefix string, limit int) ([]string, error) {
	return checkpoint.IDsBeginning(ctx, v.cfg.Store, prefix, limit)
}

// pageBytes limits the encoded size of a page. It is the size of some 20,000 checkpoints with a few
// files, or of 10 with the maximum number.
const pageBytes = 32 << 20

// List returns the requested page of the checkpoints of an experiment, of a trial or of the cluster,
// without content that the user may not read. It reads training data only for the page. A page that
// exceeds pageBytes ends early.
func (v *Checkpoints) List(ctx context.Context, by *apiv1.User, r *apiv1.GetCheckpointsRequest) ([]*apiv1.Checkpoint, *apiv1.Pagination, error) {
	all, err := v.listed(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(rec checkpoint.Entry) bool {
		return len(r.GetStates()) > 0 && !slices.Contains(r.GetStates(), stateOf(rec.State)) || r.GetDeleting() && rec.State != checkpoint.Deleting
	})
	p := v.newPage()
	if err := p.sort(ctx, r, all); err != nil {
		return nil, nil, err
	}
	pagination := apiv1.Page(len(all), r.GetOffset(), r.GetLimit())
	part := all[pagination.GetStartIndex():pagination.GetEndIndex()]
	shown := make([]*apiv1.Checkpoint, 0, len(part))
	size := 0
	for _, e := range part {
		m, err := p.showEntry(ctx, by, e)
		if err != nil {
			return nil, nil, err
		}
		shown = append(shown, m)
		if size += proto.Size(m); size > pageBytes {
			pagination.EndIndex = pagination.GetStartIndex() + int32(len(shown)) //nolint:gosec // it is at most the end of the page
			break
		}
	}
	return shown, pagination, nil
}

// showEntry returns a checkpoint without content that the user may not read. If it was deleted
// concurrently, the message contains only the fields of the entry.
func (p *page) showEntry(ctx context.Context, by *apiv1.User, e checkpoint.Entry) (*apiv1.Checkpoint, error) {
	rec, found, err := checkpoint.Get(ctx, p.cfg.Store, e.UUID)
	if err != nil {
		return nil, err
	}
	if !found {
		rec = e.Record
	}
	m, err := p.show(ctx, rec)
	if err != nil {
		return nil, err
	}
	return m, p.HideContent(ctx, by, m)
}

// listed returns the checkpoints that a list selects from.
func (v *Checkpoints) listed(ctx context.Context, r *apiv1.GetCheckpointsRequest) ([]checkpoint.Entry, error) {
	switch {
	case r.GetTrialId() != 0:
		if _, found, err := record.Docs().Trials.Get(ctx, v.cfg.Store, record.Key(r.GetTrialId())); err != nil || !found {
			return nil, cmp.Or(err, status.Missing("trial", fmt.Sprint(r.GetTrialId())))
		}
		return checkpoint.ListTrials(ctx, v.cfg.Store, r.GetTrialId())
	case r.GetExperimentId() != 0:
		if _, found, err := record.Docs().Experiments.Get(ctx, v.cfg.Store, record.Key(r.GetExperimentId())); err != nil || !found {
			return nil, cmp.Or(err, status.Missing("experiment", fmt.Sprint(r.GetExperimentId())))
		}
		return checkpoint.ListExperiment(ctx, v.cfg.Store, r.GetExperimentId())
	default:
		return checkpoint.ListAll(ctx, v.cfg.Store)
	}
}

// sorted is a checkpoint with its sort key, NaN if missing.
type sorted struct {
	checkpoint.Entry
	number float64
}

// sort orders the checkpoints as requested.
func (p *page) sort(ctx context.Context, r *apiv1.GetCheckpointsRequest, all []checkpoint.Entry) error {
	by := r.GetSortByAttr()
	descending := r.GetOrderBy() == apiv1.GetCheckpointsRequest_ORDER_BY_DESC
	if by == apiv1.GetCheckpointsRequest_SORT_BY_SEARCHER_METRIC || r.GetSortByMetric() != "" {
		return p.sortByMetric(ctx, r, all)
	}
	slices.SortStableFunc(all, func(a, b checkpoint.Entry) int {
		if descending {
			a, b = b, a
		}
		return cmp.Or(compareBy(by, a.Record, b.Record), a.Reported.Compare(b.Reported), strings.Compare(a.UUID, b.UUID))
	})
	return nil
}

func compareBy(by apiv1.GetCheckpointsRequest_SortBy, a, b checkpoint.Record) int {
	switch by {
	case apiv1.GetCheckpointsRequest_SORT_BY_UUID:
		return strings.Compare(a.UUID, b.UUID)
	case apiv1.GetCheckpointsRequest_SORT_BY_TRIAL_ID:
		return cmp.Compare(a.Trial, b.Trial)
	case apiv1.GetCheckpointsRequest_SORT_BY_BATCH_NUMBER:
		return cmp.Compare(a.Steps, b.Steps)
	case apiv1.GetCheckpointsRequest_SORT_BY_STATE:
		return strings.Compare(string(a.State), string(b.State))
	case apiv1.GetCheckpointsRequest_SORT_BY_UNSPECIFIED, apiv1.GetCheckpointsRequest_SORT_BY_END_TIME,
		apiv1.GetCheckpointsRequest_SORT_BY_SEARCHER_METRIC:
	}
	return 0
}

// sortByMetric orders by a validation metric. Checkpoints without the metric are last in both
// orders.
func (p *page) sortByMetric(ctx context.Context, r *apiv1.GetCheckpointsRequest, all []checkpoint.Entry) error {
	list := make([]sorted, 0, len(all))
	descending := r.GetOrderBy() == apiv1.GetCheckpointsRequest_ORDER_BY_DESC
	for _, rec := range all {
		s, err := p.settingsOf(ctx, rec.Experiment)
		if err != nil {
			return err
		}
		if r.GetOrderBy() == apiv1.GetCheckpointsRequest_ORDER_BY_UNSPECIFIED {
			descending = !s.smallerIsBetter
		}
		value, err := p.searcherMetric(ctx, rec.Record, cmp.Or(r.GetSortByMetric(), s.metric))
		if err != nil {
			return err
		}
		number := math.NaN()
		if value != nil {
			number = *value
		}
		list = append(list, sorted{rec, number})
	}
	slices.SortStableFunc(list, func(a, b sorted) int { return compareNumbers(a.number, b.number, descending) })
	for i, one := range list {
		all[i] = one.Entry
	}
	return nil
}

func compareNumbers(a, b float64, descending bool) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	case descending:
		return cmp.Compare(b, a)
	default:
		return cmp.Compare(a, b)
	}
}
