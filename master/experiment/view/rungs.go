package view

import (
	"cmp"
	"context"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Rungs returns the rungs of an experiment's search that trials have reached.
func (e *Experiments) Rungs(ctx context.Context, id int32) ([]*apiv1.SearchRung, error) {
	events, err := e.cfg.Experiments.History(ctx, id)
	if err != nil {
		return nil, err
	}
	trials, err := e.cfg.Experiments.Trials(ctx, id)
	if err != nil {
		return nil, err
	}
	ids := map[int]int32{}
	for _, t := range trials {
		ids[t.Number] = t.ID
	}
	return rungs(events, ids), nil
}

// rungs replays the ranks in a history. ids maps the positions of trials in the search to their IDs.
func rungs(events []record.Event, ids map[int]int32) []*apiv1.SearchRung {
	var all []*apiv1.SearchRung
	for _, v := range events {
		if v.Search == nil {
			continue
		}
		for _, a := range v.Search.Decision.Actions {
			switch {
			case a.Kind == search.RankTrial && a.Rank != nil:
				all = insertPlace(all, *a.Rank, ids[a.Trial])
			case a.Kind == search.DropTrial:
				for _, r := range all {
					r.Places = slices.DeleteFunc(r.GetPlaces(), func(p *apiv1.SearchPlace) bool { return p.GetTrialId() == ids[a.Trial] })
				}
			}
		}
	}
	return all
}

// insertPlace inserts a trial into its rung.
func insertPlace(all []*apiv1.SearchRung, r search.Rank, trial int32) []*apiv1.SearchRung {
	i, found := slices.BinarySearchFunc(all, r, func(m *apiv1.SearchRung, r search.Rank) int {
		return cmp.Or(cmp.Compare(int(m.GetBracket()), r.Bracket), cmp.Compare(int(m.GetRung()), r.Rung))
	})
	if !found {
		all = slices.Insert(all, i, &apiv1.SearchRung{Bracket: int32(r.Bracket), Rung: int32(r.Rung)}) //nolint:gosec // a search has few of them
	}
	p := &apiv1.SearchPlace{TrialId: trial, GoesOn: r.GoesOn}
	if !r.Worst {
		p.Length, p.Metric = new(float64(r.Time)), new(float64(r.Metric))
	}
	at := min(max(r.Place-1, 0), len(all[i].GetPlaces()))
	all[i].Places = slices.Insert(all[i].GetPlaces(), at, p)
	return all
}
