package trial

import (
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/plot"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

func serveCurves(v *ui.Visit) error {
	all, name, t, err := readCurves(v)
	if err != nil {
		return err
	}
	return v.JSON(curve.NewData("batches", name, all, t.GetEndTime() == nil))
}

func serveCurvesCSV(v *ui.Visit) error {
	all, name, t, err := readCurves(v)
	if err != nil {
		return err
	}
	return curve.WriteCSV(v.Attach(fmt.Sprintf("trial-%d.csv", t.GetId()), "text/csv; charset=utf-8"), "batches", name, all)
}

func serveCurvesSVG(v *ui.Visit) error {
	all, name, _, err := readCurves(v)
	if err != nil {
		return err
	}
	name = ui.Plain(name)
	return v.SVG(plot.Curves(name, "batches", name, curve.Drawing(all), curve.ReadLook(v.URL.Query()).Log))
}

// readCurves returns the curves of a metric, one for each group that has it.
func readCurves(v *ui.Visit) (all []curve.Series, name string, t *apiv1.Trial, err error) {
	reply, err := read(v)
	if err != nil {
		return nil, "", nil, err
	}
	t = reply.GetTrial()
	metrics := curve.MetricsOf([]*apiv1.Trial{t})
	name = choose(namesOf(t), v.URL.Query().Get("metric"), "")
	var ids []string
	for _, m := range metrics {
		if m.Name == name {
			ids = append(ids, m.String())
		}
	}
	if len(ids) == 0 {
		return nil, name, t, nil
	}
	list, err := v.API.CompareTrials(v.Context(), []int32{t.GetId()}, ids, curve.Most)
	if isGone(err) {
		return nil, name, t, nil
	}
	if err != nil {
		return nil, "", nil, err
	}
	for _, m := range metrics {
		for _, of := range list {
			if m.Name == name {
				s := curve.FromTrial(of, m)
				s.Name, s.Link = ui.Plain(m.Group), ""
				all = append(all, s)
			}
		}
	}
	return curve.Smooth(all, curve.ReadLook(v.URL.Query()).Smooth), name, t, nil
}
