package view

import (
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// PreviewSearch returns the trials that a search configuration leads to. Settings that only matter
// for running trials may be missing.
func (e *Experiments) PreviewSearch(r *apiv1.PreviewHPSearchRequest) (*apiv1.PreviewHPSearchResponse, error) {
	x, err := readSearch(r)
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	p, err := x.Search().Preview(0)
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	shown, _ := x.Show()["searcher"].(map[string]any)
	searcher, err := toStruct(shown)
	if err != nil {
		return nil, err
	}
	summary := &apiv1.SearchSummary{Config: searcher}
	for _, g := range p.Groups {
		summary.Trials = append(summary.Trials, &apiv1.TrialSummary{Count: int32(g.Trials), Unit: showUnit(g)})
	}
	return &apiv1.PreviewHPSearchResponse{Summary: summary}, nil
}

func readSearch(r *apiv1.PreviewHPSearchRequest) (config.Experiment, error) {
	// JSON is YAML.
	b, err := protojson.Marshal(r.GetConfig())
	if err != nil {
		return config.Experiment{}, err
	}
	d, err := config.Parse(b, "config", nil)
	if err != nil {
		return config.Experiment{}, err
	}
	x, _, err := config.Complete(config.Layers{Request: d, Unmanaged: true, Seed: r.GetSeed()})
	return x, err
}

// showUnit returns the length of the trials of a group. Trials without a length end by themselves.
func showUnit(g search.Group) *apiv1.SearchUnit {
	if g.Units == 0 {
		return &apiv1.SearchUnit{MaxLength: true}
	}
	return &apiv1.SearchUnit{Name: new(g.Unit), Value: new(int32(g.Units))}
}
