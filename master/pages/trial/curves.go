package trial

import (
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// readCurves returns the curves of a metric, one for each group that has it.
func readCurves(v *ui.Visit) (p curve.Plot, err error) {
	reply, err := read(v)
	if err != nil {
		return p, err
	}
	t := reply.GetTrial()
	metrics := curve.MetricsOf([]*apiv1.Trial{t})
	name := choose(namesOf(t), v.URL.Query().Get("metric"), "")
	p = curve.Plot{X: "batches", Y: name, File: fmt.Sprintf("trial-%d", t.GetId()), Live: t.GetEndTime() == nil}
	var ids []string
	for _, m := range metrics {
		if m.Name == name {
			ids = append(ids, m.String())
		}
	}
	if len(ids) == 0 {
		return p, nil
	}
	list, err := v.API.CompareTrials(v.Context(), []int32{t.GetId()}, ids, curve.Most)
	if isGone(err) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	for _, m := range metrics {
		for _, of := range list {
			if m.Name == name {
				s := curve.FromTrial(of, m)
				s.Name, s.Link = ui.Plain(m.Group), ""
				p.Curves = append(p.Curves, s)
			}
		}
	}
	return p, nil
}
